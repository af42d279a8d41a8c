import { spawn } from "node:child_process";
import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { JsonObject, RpcRequest } from "portolan";
import { onTestFinished } from "vitest";
import { ChildChannel, RawPeer, type RawPeerOptions } from "../kit/raw-peer.ts";
import { between, isStateless } from "../kit/revisions.ts";

/** The oldest and the newest revision: their clients differ most. */
export const oldestAndNewest = ["2024-11-05", "2026-07-28"] as const;

/** The revisions in which a server may ask the user. */
export const askingRevisions = between("2025-06-18", "2026-07-28");

export const root: string = fileURLToPath(new URL("../..", import.meta.url));

export const pathTo = (file: string): string => join(root, file);

/** Starts an example as a child process and connects to it; both end with the test. */
export async function start(file: string, options: RawPeerOptions, args: string[] = []): Promise<RawPeer> {
  const channel = new ChildChannel(process.execPath, [pathTo(file), ...args]);
  const peer = new RawPeer(channel, options);
  onTestFinished(() => peer.close());
  const exited = channel.exited.then((code) => {
    throw new Error(`${file} exited with code ${code} before it answered: ${channel.stderr}`);
  });
  const answered = peer.start().then(() => peer.settled());
  await Promise.race([answered, exited]);
  return peer;
}

/** Creates a folder that is removed after the test. */
export async function makeFolder(): Promise<string> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "portolan-example-")));
  onTestFinished(() => rm(folder, { recursive: true }));
  return folder;
}

/** Subscribes to changes in the way of the revision; resolves when the server has acknowledged. */
export async function subscribe(peer: RawPeer, uris: string[]): Promise<void> {
  if (!isStateless(peer.revision)) {
    for (const uri of uris) await peer.request("resources/subscribe", { uri });
    return;
  }
  const notifications = { resourceSubscriptions: uris, resourcesListChanged: true };
  peer.request("subscriptions/listen", { notifications });
  await peer.notification("notifications/subscriptions/acknowledged");
}

/** Answers as a user who accepts every form with the same entries. */
export const accept = (content: JsonObject) => (): JsonObject => ({ action: "accept", content });

/** Answers as a user who declines. */
export const decline = (): JsonObject => ({ action: "decline" });

/** Answers as a model that always returns the same text. */
export const modelSays = (text: string) => (): JsonObject => ({
  role: "assistant",
  content: { type: "text", text },
  model: "scripted",
});

/** Returns the message of each question that the server asked, in order. */
export const questionTexts = (questions: readonly RpcRequest[]): unknown[] =>
  questions.map(({ params }) => params?.["message"] ?? params?.["messages"]);

export interface Run {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** Runs a program until it exits. */
export function run(file: string, args: string[] = [], env: Record<string, string> = {}): Promise<Run> {
  const child = spawn(process.execPath, [file, ...args], { env: { ...process.env, ...env } });
  let stdout = "";
  let stderr = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  return new Promise((resolve) => child.on("close", (code) => resolve({ code, stdout, stderr })));
}
