import type { Host, HostAnswers, HostQuestion } from "portolan-host";

/**
 * Answers for commands that cannot ask the person now. The questions wait: a task whose question is refused would fail, or
 * be cancelled.
 */
export const unanswered: HostAnswers = { elicit: "later", openUrl: "later" };

/** Resolves to the next question of a server. */
export async function nextQuestion(host: Host): Promise<HostQuestion> {
  for await (const event of host.events({ kinds: ["question"] })) if (event.kind === "question") return event.question;
  return new Promise<never>(() => {});
}
