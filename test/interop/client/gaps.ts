/** Why a feature is missing, by the names of the features it takes away. */
export type Gaps = { readonly [feature: string]: string };

/** One reason for several features. */
export function because(reason: string, ...features: string[]): Gaps {
  return Object.fromEntries(features.map((feature) => [feature, reason]));
}

const questions = [
  "elicitation: form",
  "elicitation: declined",
  "elicitation: a page to visit",
  "questions: answered for one call",
  "questions: answered wrongly",
  "questions: not answered",
  "questions: taken back with their call",
];
const questionsOfSession = [
  "sampling",
  "roots",
  "roots: changed",
  "questions: several at once",
  "questions: one after the other",
];
const watches = [
  "resources: watch",
  "resources: no change is told twice",
  "resources: two watches of one address",
  "resources: a watch that ended hears nothing",
  "list changes",
];
const runningCalls = ["time-outs", "closing with a call under way", "cancellation"];
const progress = ["progress", "progress: of two calls at once"];
const sessions = ["session: ends with the client", "session: forgotten by the server"];
const resumed = [
  "resumption: of a call that was cut off",
  "resumption: of the session's stream",
  "resumption: of a call that the server let go",
];

export const noPages: Gaps = because("its lists are always one page", "pages");

/** What a reply in JSON leaves no room for. */
export const noProgress: Gaps = because(
  "a reply in JSON has no room for what comes before it; these calls are followed by their progress",
  ...progress,
  ...runningCalls,
);

export const noQuestionsInJson: Gaps = because(
  "a reply in JSON has no room for a question; only what is asked on the stream of the session arrives",
  ...questions,
);

export const noLogInJson: Gaps = because("a reply in JSON has no room for what is logged", "log", "log: level");

/** What is missing where even more than that goes with the reply. */
export const onlyReplies: Gaps = {
  ...because("a reply in JSON has no room for a question", ...questions, ...questionsOfSession),
  ...noLogInJson,
};

/** What a server cannot do that serves every request by itself. */
export const oneShot: Gaps = {
  ...because(
    "who keeps no session has nobody to ask",
    ...questions,
    ...questionsOfSession,
    "questions: to a client without answers",
  ),
  ...because("who keeps no session has no stream to tell of changes on", ...watches),
  ...because("who keeps no session does not remember a level", "log: level"),
  ...because("who keeps no session cannot be told which call to end", ...runningCalls),
};

export const noSessions: Gaps = because("there are no sessions", ...sessions);

export const noEvents: Gaps = because("its server keeps no events to go on behind", ...resumed);

/** Servers hold on to their streams until the answer is there. */
export const noLettingGo: Gaps = because(
  "its tools cannot let go of a connection before the answer",
  "resumption: of a call that the server let go",
);
