import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import type { CommandTarget, OnMessage, Report, Verdict } from "../../packages/check/src/index.ts";
import type { Passed } from "../kit/conversation.ts";
import { quickServer } from "../kit/quick-servers.mjs";

/** Returns the path of a file in this folder. */
export function pathOf(file: string): string {
  return fileURLToPath(new URL(file, import.meta.url));
}

/** Returns the target for a script that is a server. */
export function scripted(file: string, ...args: readonly string[]): CommandTarget {
  return { command: process.execPath, args: [quickServer(pathOf(file)), ...args] };
}

/** Starts a server that writes its URL as its first line; it ends when `finished` runs. */
export async function startHttp(
  { command, args = [], env }: CommandTarget,
  finished = onTestFinished,
): Promise<string> {
  const child = spawn(command, [...args], { stdio: ["ignore", "pipe", "ignore"], env: { ...process.env, ...env } });
  const gone = new Promise((resolve) => child.once("close", resolve));
  finished(async () => {
    child.kill("SIGKILL");
    await gone;
  });
  for await (const line of createInterface({ input: child.stdout })) return line;
  throw new Error("the server ended before it said where it is");
}

/** Records all messages of a grading. */
export function keep(passed: Passed[]): OnMessage {
  return (direction, message, { revision, transport, connection }) => {
    const from = direction === "sent" ? "client" : "server";
    passed.push({ connection: `${revision} ${transport} ${connection}`, revision, from, message });
  };
}

/** Returns one line for each verdict with another grade. */
export function besides(report: Report, ...grades: readonly Verdict["grade"][]): string[] {
  return report.verdicts
    .filter(({ grade }) => !grades.includes(grade))
    .map(({ grade, scenario, revision, transport, evidence }) => {
      return `${grade}: ${scenario}, ${revision} over ${transport}: ${evidence}`;
    });
}

/** Returns the revisions that a server supports, with their transport. */
export function spokenIn(report: Report): string[] {
  return report.totals.filter(({ isSpoken }) => isSpoken).map(({ revision, transport }) => `${revision} ${transport}`);
}
