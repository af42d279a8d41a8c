import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import type { CommandTarget, OnMessage, Report, Verdict } from "../../packages/check/src/index.ts";
import type { Passed } from "../kit/conversation.ts";
import { quickServer } from "../kit/quick-servers.mjs";

/** The path of a file, as seen from this folder. */
export function pathOf(file: string): string {
  return fileURLToPath(new URL(file, import.meta.url));
}

/** A server that a script is. */
export function scripted(file: string, ...args: readonly string[]): CommandTarget {
  return { command: process.execPath, args: [quickServer(pathOf(file)), ...args] };
}

/** Starts a server that says its address on the first line of its output, gone when `finished` says so. */
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

/** Keeps what passes while a server is graded. */
export function keep(passed: Passed[]): OnMessage {
  return (direction, message, { revision, transport, connection }) => {
    const from = direction === "sent" ? "client" : "server";
    passed.push({ connection: `${revision} ${transport} ${connection}`, revision, from, message });
  };
}

/** One line for each verdict that is none of these grades. */
export function besides(report: Report, ...grades: readonly Verdict["grade"][]): string[] {
  return report.verdicts
    .filter(({ grade }) => !grades.includes(grade))
    .map(({ grade, scenario, revision, transport, evidence }) => {
      return `${grade}: ${scenario}, ${revision} over ${transport}: ${evidence}`;
    });
}

/** The revisions that a server was found to speak, with their transport. */
export function spokenIn(report: Report): string[] {
  return report.totals.filter(({ isSpoken }) => isSpoken).map(({ revision, transport }) => `${revision} ${transport}`);
}
