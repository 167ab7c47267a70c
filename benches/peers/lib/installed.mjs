// Which version is really there, as opposed to wanted.

import { readFileSync } from "node:fs";

export const installed = (name) => JSON.parse(readFileSync(new URL(`../node_modules/${name}/package.json`, import.meta.url), "utf8")).version;
