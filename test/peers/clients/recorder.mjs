/** Records the notifications and questions that a client receives, and lets a test wait for a notification. */
export function createRecorder() {
  const heard = [];
  const waiting = new Set();
  return {
    heard,
    asked: [],
    errors: [],
    hear(method, params) {
      heard.push({ method, params });
      for (const look of [...waiting]) look();
    },
    hears(method, matches = () => true) {
      return new Promise((resolve) => {
        const look = () => {
          const found = heard.find((notification) => notification.method === method && matches(notification.params));
          if (!found) return;
          waiting.delete(look);
          resolve(found.params);
        };
        waiting.add(look);
        look();
      });
    },
  };
}

/** Resolves when a child process exits, with undefined without one; `wasKilled` if the client sent it a signal. */
export function watchExit(child) {
  if (!child) return Promise.resolve(undefined);
  return new Promise((resolve) => {
    const done = () => resolve({ code: child.exitCode, signal: child.signalCode, wasKilled: child.killed });
    if (child.exitCode !== null || child.signalCode !== null) done();
    else child.once("exit", done);
  });
}

export const notifications = [
  "notifications/message",
  "notifications/resources/updated",
  "notifications/resources/list_changed",
  "notifications/tools/list_changed",
  "notifications/prompts/list_changed",
  "notifications/elicitation/complete",
];

export const capabilities = {
  roots: { listChanged: true },
  sampling: { tools: {} },
  elicitation: { form: {}, url: {} },
};
