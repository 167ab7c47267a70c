// A PostgreSQL of one measurement: fsync and synchronous_commit as they come (on), memory and WAL as one would give
// it for this kind of load.

import { chownSync, chmodSync, existsSync, mkdirSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { emptyFolder, freePort, output, ready, start, stop } from "./process.mjs";

const DEBIAN = "/usr/lib/postgresql";
const SETTINGS = { listen_addresses: "127.0.0.1", unix_socket_directories: "", max_connections: 200, shared_buffers: "1GB", max_wal_size: "4GB" };

function programs() {
  if (process.env.ORDO_TEST_POSTGRES_BIN) return process.env.ORDO_TEST_POSTGRES_BIN;
  const versions = existsSync(DEBIAN) ? readdirSync(DEBIAN).map(Number).filter(Boolean) : [];
  if (versions.length === 0) throw new Error("PostgreSQL is not installed (ORDO_TEST_POSTGRES_BIN names the folder of its programs)");
  return join(DEBIAN, String(Math.max(...versions)), "bin");
}

/// The server refuses to be run by root.
function user() {
  if (process.getuid() !== 0) return undefined;
  const users = readFileSync("/etc/passwd", "utf8").split("\n").map((line) => line.split(":"));
  const found = users.find(([name]) => name === "postgres") ?? users.find(([name]) => name === "nobody");
  if (!found) throw new Error("PostgreSQL must not be run by root, and there is neither a user postgres nor nobody");
  return { uid: Number(found[2]), gid: Number(found[3]) };
}

export async function startPostgres() {
  const [bin, owner, folder, port] = [programs(), user(), emptyFolder(), await freePort()];
  const data = join(folder, "data");
  mkdirSync(data);
  chmodSync(folder, 0o755);
  if (owner) chownSync(data, owner.uid, owner.gid);
  output(join(bin, "initdb"), ["-D", data, "-U", "bench", "--auth=trust", "--encoding=UTF8", "--locale=C"], { cwd: data, ...owner });
  const settings = Object.entries(SETTINGS).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  const server = start(join(bin, "postgres"), ["-D", data, "-p", port, ...settings], { cwd: folder, user: owner?.uid });
  const isReady = ["-q", "-h", "127.0.0.1", "-p", port, "-U", "bench"];
  await ready(server, () => output(join(bin, "pg_isready"), isReady));
  return {
    pid: server.pid,
    url: `postgres://bench@127.0.0.1:${port}/postgres`,
    version: output(join(bin, "postgres"), ["--version"]).trim().split(" ").at(2),
    // "Fast": connections are cut, the data is written.
    stop: () => stop(server, "SIGINT"),
  };
}
