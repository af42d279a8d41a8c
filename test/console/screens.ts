/** The states of a screen: without content, before it has come, when it cannot come, and with more than fits. */
export const states = ["empty", "loading", "error", "overflow"] as const;

type State = (typeof states)[number];

interface Screen {
  /** Its files below `packages/console/src/app`. */
  readonly files: readonly string[];
  /** Why it has no such state. */
  readonly without?: { readonly [S in State]?: string };
}

/** What comes with the state of the console is there when the screen is, and fails with the console. */
const fromState = {
  loading: "it comes with the state of the console",
  error: "it comes with the state of the console",
};
const ofOne = { empty: "it is about something that exists" };
const typed = { empty: "its fields are empty at first", loading: "it has nothing to wait for" };

/** The places of the page, and the windows and panes that open in them. */
export const screens = {
  console: { files: ["main", "shell/app", "shell/rail", "shell/server-row", "shell/top-bar"] },
  closed: {
    files: ["shell/closed"],
    without: { empty: "it says one thing", loading: "it waits for nothing", overflow: "no server writes to it" },
  },
  chat: {
    files: [
      "chat/index",
      "chat/empty-talk",
      "chat/flow",
      "chat/blocks",
      "chat/tool-card",
      "chat/result",
      "chat/composer",
    ],
  },
  question: {
    files: ["chat/questions/card", "chat/questions/frame"],
    without: { ...ofOne, loading: "it comes whole" },
  },
  context: { files: ["chat/context-panel", "chat/catalog-state"] },
  prompts: { files: ["chat/prompt-palette"] },
  resources: { files: ["chat/resource-picker"] },
  changes: { files: ["chat/changed-tools"], without: ofOne },
  find: { files: ["find/find"] },
  tasks: { files: ["shell/tasks-tray"], without: fromState },
  questions: { files: ["shell/waiting"], without: fromState },
  settings: { files: ["shell/settings"], without: { ...fromState, empty: "it always has a look" } },
  "add a model": { files: ["shell/add-model"], without: typed },
  folders: { files: ["shell/folders"], without: { loading: fromState.loading } },
  "add a server": { files: ["shell/add-server"], without: typed },
  "found servers": { files: ["shell/add-server"] },
  "change a server": { files: ["shell/add-server"], without: ofOne },
  trust: { files: ["shell/server-row"], without: ofOne },
  "trust several": { files: ["shell/trust-several"], without: ofOne },
  server: { files: ["inspect/inspect", "inspect/server-head"] },
  try: { files: ["inspect/try/try"] },
  tool: { files: ["inspect/try/tool-pane"], without: ofOne },
  result: { files: ["inspect/try/result-pane"] },
  resource: { files: ["inspect/try/resource-pane"] },
  prompt: { files: ["inspect/try/prompt-pane"] },
  skill: { files: ["inspect/try/skill-pane"], without: ofOne },
  timeline: { files: ["inspect/timeline/timeline"] },
  message: { files: ["inspect/timeline/detail"] },
  "send a request": { files: ["inspect/timeline/send-dialog"] },
  "save a call": { files: ["inspect/save-dialog"], without: { ...ofOne, loading: typed.loading } },
  log: { files: ["inspect/log"] },
  recordings: { files: ["inspect/recordings"] },
  compare: { files: ["inspect/recordings"] },
  saved: { files: ["inspect/saved"] },
  "sign-in": { files: ["inspect/sign-in"] },
  doctor: { files: ["inspect/doctor"] },
  check: { files: ["inspect/doctor"] },
  activity: { files: ["activity/activity", "activity/done"] },
  "activity log": { files: ["activity/log-view"] },
  grants: { files: ["activity/grants"], without: fromState },
} as const satisfies { readonly [name: string]: Screen };

/** One state of a screen, as `timeline: loading`. */
export type ScreenState = `${keyof typeof screens}: ${State}`;

/** Every state that a screen can have. */
export const screenStates: readonly string[] = Object.entries(screens as { readonly [name: string]: Screen }).flatMap(
  ([name, { without = {} }]) =>
    states.filter((state) => without[state] === undefined).map((state) => `${name}: ${state}`),
);
