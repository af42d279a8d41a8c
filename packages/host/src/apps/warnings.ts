import { inspectHost } from "../display/index.ts";
import type { AppPermission, DeclaredGrant } from "./sources.ts";

/** Ways out that no page can forbid an app. No policy of a browser covers WebRTC, and browsers connect ahead of a navigation before they forbid it. */
const unstoppable =
  "No browser keeps an app from reaching other machines by WebRTC, or by looking up and connecting to their names: it can pass on what it shows.";

const permissionWords: { readonly [permission in AppPermission]: string } = {
  camera: "It may ask for the camera.",
  microphone: "It may ask for the microphone.",
  geolocation: "It may ask where you are.",
  "clipboard-write": "It may write to the clipboard.",
};

/** Returns one sentence for each thing that a user should know before an app is shown. */
export function warningsOf({ sources, permissions, dropped }: DeclaredGrant): string[] {
  const { connect = [], resources = [], frames = [], base = [] } = sources ?? {};
  const lists = [
    ["It connects to", connect],
    ["It loads scripts, styles and media from", resources],
    ["It shows frames of", frames],
    ["It resolves addresses against", base],
  ] as const;
  return [
    ...lists.flatMap(([words, list]) => (list.length > 0 ? [`${words} ${list.join(", ")}.`] : [])),
    ...[...new Set([connect, resources, frames, base].flat())].flatMap(warningsAbout),
    ...permissions.map((one) => permissionWords[one]),
    ...(dropped.length > 0 ? ["It declares origins that are none; they stay forbidden."] : []),
    unstoppable,
  ];
}

function warningsAbout(source: string): readonly string[] {
  // A wildcard stands for any name.
  const plain = source.replace("://*.", "://").replace(/:\*(?=\/|$)/, "");
  const { warnings, host } = inspectHost(plain.replace(/^ws/, "http"));
  return warnings.map((warning) => `${host}: ${warning}`);
}
