#!/usr/bin/env node
import { homedir } from "node:os";
import { fileURLToPath } from "node:url";
import { runCli } from "./cli.ts";

const { argv, env, platform, stdin, stdout, stderr } = process;
const code = await runCli({
  argv: argv.slice(2),
  env,
  platform,
  stdin,
  stdout,
  stderr,
  cwd: process.cwd(),
  home: env["HOME"] || homedir(),
  self: fileURLToPath(import.meta.url),
});
// What was written to a pipe is read to its end.
process.exitCode = code;
