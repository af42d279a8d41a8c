import type { HostEvent } from "../api.ts";
import type { SettledQuestion } from "../open-questions.ts";
import type { AnswerOf, AnswerScope, HostQuestion, QuestionKind } from "../questions.ts";

/** Returns the event that tells how a question ended. */
export function answeredEvent({ question, answer, by, grant }: SettledQuestion): HostEvent {
  const { server } = question;
  if (!answer) return { kind: "answered", server, question, how: "withdrawn" };
  const summary = summaryOf(question, answer);
  const more = { ...(by !== undefined && { by }), ...(grant !== undefined && { grant }) };
  return { kind: "answered", server, question, how: "answered", summary, ...more };
}

const nobodyAsked = "Refused: there was no way to ask the user";

/** Describes an answer in a few words for a person. */
export function summaryOf(question: HostQuestion, answer: AnswerOf[QuestionKind]): string {
  switch (question.kind) {
    case "elicit":
      return byAction(answer as AnswerOf["elicit"], ["Form sent", "Form declined", "Form closed"]);
    case "openUrl":
      return byAction(answer as AnswerOf["openUrl"], ["Address opened", "Address declined", "Address closed"]);
    case "changed": {
      const { allow, isUnasked } = answer as AnswerOf["changed"];
      if (isUnasked && !allow) return nobodyAsked;
      return allow ? "Change accepted" : "Change refused";
    }
    case "say":
      return (answer as AnswerOf["say"]).allow ? "Message sent" : "Message not sent";
    case "sample": {
      const { allow, params, result } = answer as AnswerOf["sample"];
      const [sent, withheld] =
        question.stage === "request" ? ["Request sent", "Request refused"] : ["Answer sent", "Answer withheld"];
      return allow ? `${sent}${params || result ? " with changes" : ""}` : withheld;
    }
    case "roots": {
      const { allow, roots = question.roots } = answer as AnswerOf["roots"];
      if (!allow || roots.length === 0) return "No folder shared";
      return roots.length === 1 ? "1 folder shared" : `${roots.length} folders shared`;
    }
    case "trust": {
      const { allow, for: scope = "once" } = answer as AnswerOf["trust"];
      // Trust lasts until the host closes, also where it was given once.
      return lasting(allow ? "Trusted" : "Refused", scope === "once" ? "session" : scope);
    }
    default: {
      const { allow, for: scope = "once", onlyTheseArguments, isUnasked } = answer as AnswerOf["approve"];
      if (isUnasked && !allow) return nobodyAsked;
      const kept = question.isOnce ? "once" : scope;
      const only = onlyTheseArguments && kept !== "once" ? ", with these arguments" : "";
      return `${lasting(allow ? "Allowed" : "Refused", kept)}${only}`;
    }
  }
}

function byAction(
  { action }: AnswerOf["openUrl"],
  [accepted, declined, closed]: readonly [accepted: string, declined: string, closed: string],
): string {
  if (action === "accept") return accepted;
  return action === "decline" ? declined : closed;
}

function lasting(done: string, scope: AnswerScope): string {
  if (scope === "once") return `${done} once`;
  return scope === "session" ? `${done} for this session` : `Always ${done.toLowerCase()}`;
}
