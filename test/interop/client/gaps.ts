/** Reasons why features are missing, by feature name. */
export type Gaps = { readonly [feature: string]: string };

/** Returns the same reason for several features. */
export function because(reason: string, ...features: string[]): Gaps {
  return Object.fromEntries(features.map((feature) => [feature, reason]));
}

const questions = [
  "elicitation: form",
  "elicitation: declined",
  "elicitation: URL",
  "questions: answered for one call",
  "questions: invalid answer",
  "questions: answered with an error",
  "questions: withdrawn with their call",
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
  "resources: no duplicate changes",
  "resources: two watches of one URI",
  "resources: no changes after a watch ended",
  "list changes",
];
const runningCalls = ["timeouts", "closing during a call", "cancellation"];
const progress = ["progress", "progress: of two calls at once"];
const sessions = ["session: ends with the client", "session: lost by the server"];
const resumed = [
  "resumption: of an interrupted call",
  "resumption: of the session's stream",
  "resumption: of a call whose stream the server closed",
];

export const noPages: Gaps = because("its lists always have one page", "pages");

/** Features that a JSON response cannot carry. */
export const noProgress: Gaps = because(
  "a JSON response cannot carry progress, by which these tests follow the calls",
  ...progress,
  ...runningCalls,
);

export const noQuestionsInJson: Gaps = because(
  "a JSON response cannot carry a question; only questions on the session's stream arrive",
  ...questions,
);

export const noLogInJson: Gaps = because("a JSON response cannot carry log messages", "log", "log: level");

/** Features that are missing if a server sends everything with the JSON response. */
export const onlyReplies: Gaps = {
  ...because("a JSON response cannot carry a question", ...questions, ...questionsOfSession),
  ...noLogInJson,
};

/** Features that a server lacks if it serves each request on its own. */
export const oneShot: Gaps = {
  ...because(
    "without a session it cannot ask questions",
    ...questions,
    ...questionsOfSession,
    "questions: to a client without answers",
  ),
  ...because("without a session it has no stream for change notifications", ...watches),
  ...because("without a session it does not keep the log level", "log: level"),
  ...because("without a session it cannot find the call to cancel", ...runningCalls),
};

export const noSessions: Gaps = because("there are no sessions", ...sessions);

export const noEvents: Gaps = because("its server stores no events to resume from", ...resumed);

/** Servers that keep their streams open until the result. */
export const noEarlyClose: Gaps = because(
  "its tools cannot close a stream before the result",
  "resumption: of a call whose stream the server closed",
);
