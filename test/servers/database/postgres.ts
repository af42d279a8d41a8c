import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chownSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import pg from "pg";
import { findProgram } from "../../../scripts/programs.mjs";
import { freePort } from "../../kit/free-port.ts";

/** A PostgreSQL server for tests. */
export interface Postgres {
  /** Returns the address of a database for a role. Default: the superuser. */
  url(database: string, role?: string): string;
  /** The same through a Unix socket. */
  socketUrl(database: string, role: string): string;
  /** Certificate of the server. */
  readonly certificate: string;
  /** Runs statements as the superuser. */
  sql(statements: string, database?: string): Promise<unknown[][]>;
  /** Returns the server's log so far. */
  log(): string;
  stop(): Promise<void>;
}

/** Time for a server to start on a busy machine. */
export const postgresStartMs = 60_000;

/** Starts a server in its own folder on a loopback port; the superuser is `boss`, every password is `secret`. */
export async function startPostgres(): Promise<Postgres> {
  const bin = dirname(findProgram("postgresql") ?? "");
  const program = (name: string) => join(bin, name);
  const folder = mkdtempSync(join(tmpdir(), "portolan-postgres-"));
  const who = unprivileged();
  if (who) chownSync(folder, who.uid, who.gid);
  const options = { cwd: folder, ...who };
  const password = join(folder, "password");
  writeFileSync(password, "secret");
  const data = join(folder, "data");
  const initial = ["--username=boss", `--pwfile=${password}`, "--auth=scram-sha-256", "--no-sync", "--encoding=UTF8"];
  execFileSync(program("initdb"), [...initial, "--locale=C.UTF-8", "-D", data], { ...options, stdio: "ignore" });
  const { certificate, key } = certify(folder, options);
  // The role `sealed` must connect with TLS.
  const rules = join(data, "pg_hba.conf");
  writeFileSync(rules, `hostnossl all sealed all reject\n${readFileSync(rules, "utf8")}`);
  const port = await freePort();
  const settings = [
    ...["ssl=on", `ssl_cert_file=${certificate}`, `ssl_key_file=${key}`, "listen_addresses=127.0.0.1"],
    ...["fsync=off", "max_connections=60", "max_prepared_transactions=4"],
  ];
  const args = ["-D", data, "-p", String(port), "-k", folder, ...settings.flatMap((one) => ["-c", one])];
  // If the test process dies, the pipe closes and the server shuts down at once, without waiting for its sessions.
  const guarded = ["-c", '"$@" & read _; kill -INT $!; wait $!', "sh", program("postgres"), ...args];
  const child = spawn("sh", guarded, { ...options, stdio: ["pipe", "ignore", "pipe"] });
  const log = await ready(child);
  const url = (database: string, role = "boss") => `postgres://${role}:secret@127.0.0.1:${port}/${database}`;
  return {
    url,
    log,
    certificate,
    socketUrl: (database, role) => `postgres://${role}:secret@/${database}?host=${folder}&port=${port}`,
    async sql(statements, database = "postgres") {
      const client = new pg.Client(url(database));
      await client.connect();
      try {
        const result = await client.query({ text: statements, rowMode: "array" });
        return [result].flat().at(-1)?.rows ?? [];
      } finally {
        await client.end();
      }
    },
    async stop() {
      const exited = once(child, "exit");
      child.stdin.end();
      await exited;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Creates a certificate for this machine and a key that only the owner can read. */
function certify(folder: string, options: object): { certificate: string; key: string } {
  const [certificate, key] = [join(folder, "server.crt"), join(folder, "server.key")];
  const kind = ["-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"];
  const about = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"];
  const args = ["req", ...kind, ...about, "-keyout", key, "-out", certificate];
  execFileSync("openssl", args, { ...options, stdio: "ignore" });
  return { certificate, key };
}

/** Resolves to the log once the server accepts connections. */
function ready(child: ChildProcess): Promise<() => string> {
  return new Promise((resolve, reject) => {
    let said = "";
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      said = (said + text).slice(-1_000_000);
      if (said.includes("ready to accept connections")) resolve(() => said);
    });
    child.once("exit", () => reject(new Error(said)));
  });
}

/** PostgreSQL refuses to run as root. */
function unprivileged(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const users = readFileSync("/etc/passwd", "utf8").split("\n");
  const [, , uid, gid] = users.find((line) => line.startsWith("postgres:"))!.split(":");
  return { uid: Number(uid), gid: Number(gid) };
}
