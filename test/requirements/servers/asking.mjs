// Tools that send requests to the client, each in its own way. Each call creates a new server.
import { createServer, form, inputRequired, live } from "portolan/server";
import { z } from "zod";

const person = form(
  z.object({ name: z.string().min(2), age: z.number().int().min(0).optional(), email: z.email().optional() }),
);
const question = (message) => ({
  method: "elicitation/create",
  params: { mode: "form", message, requestedSchema: { type: "object", properties: { name: { type: "string" } } } },
});

export default function createAskingServer(options = {}) {
  const errors = [];
  const events = [];
  const gates = new Map();
  const gate = (name) => {
    if (!gates.has(name)) {
      let open;
      gates.set(name, {
        promise: new Promise((resolve) => {
          open = resolve;
        }),
        open,
      });
    }
    return gates.get(name);
  };
  let effects = 0;
  const served = live(
    createServer(
      { name: "asking", version: "1.0.0" },
      {
        onError: (error, about) =>
          errors.push({ code: error?.code, message: String(error?.message ?? error), ...about }),
        ...options,
      },
    )
      .tool("errors", { run: () => JSON.stringify(errors) })
      .tool("events", { run: () => JSON.stringify(events) })
      .tool("open_gate", {
        run({ name }) {
          gate(name).open();
          return "opened";
        },
      })
      .tool("elicit", {
        run: async ({ message, schema }, ctx) => JSON.stringify(await ctx.elicit("e", { message, form: schema })),
      })
      .tool("person", {
        run: async (_, ctx) => JSON.stringify(await ctx.elicit("person", { message: "Who?", form: person })),
      })
      .tool("sample", { run: async ({ params }, ctx) => JSON.stringify(await ctx.sample("s", params)) })
      .tool("roots", { run: async (_, ctx) => JSON.stringify(await ctx.roots()) })
      .tool("visit", {
        async run({ url, gated }, ctx) {
          const ready = gated
            ? () =>
                gate("ready").promise.then(() => {
                  events.push("ready");
                })
            : undefined;
          const { action } = await ctx.openUrl("v", { message: "Log in", url, ...(ready && { ready }) });
          events.push(action);
          return action;
        },
      })
      .tool("confirm", { run: async ({ message = "Sure?" }, ctx) => String(await ctx.confirm("sure", message)) })
      .tool("other", { run: async ({ message = "Sure?" }, ctx) => String(await ctx.confirm("sure", message)) })
      .tool("fallback", {
        async run(_, ctx) {
          try {
            return String(await ctx.confirm("sure", "Sure?"));
          } catch (error) {
            if (error.name === "RpcError") return `without asking: ${error.code}`;
            throw error;
          }
        },
      })
      .tool("cancelled", {
        async run(_, ctx) {
          return (await ctx.confirm("sure", "Sure?")) ? "did it" : ctx.cancelled();
        },
      })
      .tool("asks_and_waits", {
        async run(_, ctx) {
          ctx.signal.addEventListener("abort", () => events.push("aborted"));
          try {
            return String(await ctx.confirm("sure", "Sure?"));
          } catch (error) {
            events.push(`${error.name}: ${error.code ?? ""}`);
            throw error;
          }
        },
      })
      .tool("needs", {
        needs: { elicitation: { form: {} }, sampling: { tools: {} } },
        run() {
          events.push("ran");
          return "ran";
        },
      })
      .tool("needs_url", { needs: { elicitation: { url: {} } }, run: () => "ran" })
      .tool("needs_extension", { needs: { extensions: { "com.example/x": {} } }, run: () => "ran" })
      .tool("in_turn", {
        async run(_, ctx) {
          events.push("run");
          const first = await ctx.confirm("first", "First?");
          const once = await ctx.once("effect", () => {
            effects += 1;
            return { at: new Date(0), n: effects, missing: undefined };
          });
          const second = await ctx.elicit("second", { message: "Second?", form: person });
          const nothing = await ctx.once("nothing", () => undefined);
          return JSON.stringify({
            first,
            once,
            second,
            nothing: nothing ?? "nothing",
            isDate: once.at instanceof Date,
          });
        },
      })
      .tool("together", {
        async run(_, ctx) {
          const [a, b, c] = await Promise.all([
            ctx.confirm("a", "A?"),
            ctx.sample("b", { messages: [{ role: "user", content: { type: "text", text: "B" } }], maxTokens: 5 }),
            ctx.roots("c"),
          ]);
          return JSON.stringify({ a, b: b.content.text, c });
        },
      })
      .tool("large_question", {
        run: async (_, ctx) =>
          JSON.stringify(
            await Promise.all([ctx.confirm("large", "x".repeat(2_000_000)), ctx.confirm("small", "Small?")]),
          ),
      })
      .tool("siblings", {
        async run(_, ctx) {
          const branch = async (key, turns) => {
            for (let turn = 0; turn < turns; turn += 1) await null;
            return ctx.confirm(key, `${key}?`);
          };
          return JSON.stringify(await Promise.all([branch("a", 0), branch("b", 5), branch("c", 10)]));
        },
      })
      .tool("made_then_awaited", {
        async run(_, ctx) {
          const a = ctx.confirm("a", "A?");
          const b = ctx.confirm("b", "B?");
          return JSON.stringify([await a, await b]);
        },
      })
      .tool("slow_once", {
        async run(_, ctx) {
          const slow = ctx.once("slow", async () => {
            await gate("slow").promise;
            effects += 1;
            return effects;
          });
          const [n, sure] = await Promise.all([slow, ctx.confirm("sure", "Sure?")]);
          return JSON.stringify({ n, sure, effects });
        },
      })
      .tool("failing_once", {
        async run(_, ctx) {
          try {
            await ctx.once("fails", () => {
              effects += 1;
              throw new Error("no");
            });
          } catch (error) {
            events.push(error.message);
          }
          await ctx.confirm("sure", "Sure?");
          return "done";
        },
      })
      .tool("twice", {
        async run(_, ctx) {
          await ctx.confirm("same", "A?");
          await ctx.confirm("same", "A?");
          return "no";
        },
      })
      .tool("once_twice", {
        async run(_, ctx) {
          await ctx.once("same", () => 1);
          await ctx.once("same", () => 2);
          return "no";
        },
      })
      .tool("swallows", {
        async run(_, ctx) {
          try {
            await ctx.confirm("a", "A?");
          } catch {}
          return "went on";
        },
      })
      .tool("swallows_late", {
        async run(_, ctx) {
          try {
            await ctx.confirm("a", "A?");
          } catch {}
          await gate("late").promise;
          events.push("ended");
          return "went on";
        },
      })
      .tool("fails_late", {
        async run(_, ctx) {
          try {
            await ctx.confirm("a", "A?");
          } catch {}
          await gate("late").promise;
          events.push("ended");
          throw new Error("late");
        },
      })
      .tool("changing", {
        run: async (_, ctx) => {
          effects += 1;
          return String(await ctx.confirm("pay", `Pay ${effects}?`));
        },
      })
      .tool("changes_earlier", {
        async run(_, ctx) {
          effects += 1;
          const paid = await ctx.confirm("pay", effects > 2 ? "Pay 200?" : "Pay 100?");
          const sent = await ctx.confirm("send", "Send?");
          return JSON.stringify({ paid, sent });
        },
      })
      .tool("speaks_after_stop", {
        async run(_, ctx) {
          ctx.progress(1);
          ctx.log("error", "before");
          try {
            return String(await ctx.confirm("sure", "Sure?"));
          } catch (error) {
            ctx.progress(2);
            ctx.log("error", "after");
            events.push(`aborted ${ctx.signal.aborted}`);
            const later = await ctx
              .once("after", () => {
                effects += 1;
                events.push("after ran");
              })
              .catch((cause) => cause.name);
            events.push(`once: ${later}`);
            throw error;
          }
        },
      })
      .tool("parked", {
        asks: "park",
        async run({ name = "parked" }, ctx) {
          events.push(`run ${name}`);
          const first = await ctx.confirm("first", "First?");
          ctx.progress(1);
          const second = await ctx.elicit("second", { message: "Second?", form: person });
          return JSON.stringify({ name, first, second });
        },
      })
      .tool("parked_together", {
        asks: "park",
        run: async (_, ctx) => JSON.stringify(await Promise.all([ctx.confirm("a", "A?"), ctx.confirm("b", "B?")])),
      })
      .tool("explicit", {
        async run(_, ctx) {
          events.push("explicit");
          const n = await ctx.once("n", () => {
            effects += 1;
            return effects;
          });
          const answer = ctx.answer("name");
          if (!answer)
            return inputRequired({ requests: { name: question("Who?"), sure: question("Sure?") }, state: { step: 1 } });
          return JSON.stringify({
            n,
            effects,
            name: answer.content?.name ?? answer.action,
            sure: ctx.answer("sure")?.action,
            state: ctx.state(),
          });
        },
      })
      .tool("explicit_steps", {
        run(_, ctx) {
          const step = ctx.state()?.step ?? 0;
          return step < 3 ? inputRequired({ state: { step: step + 1 } }) : `step ${step}`;
        },
      })
      .tool("explicit_after_linear", {
        async run(_, ctx) {
          const first = await ctx.confirm("first", "First?");
          const answer = ctx.answer("name");
          if (!answer) return inputRequired({ requests: { name: question("Who?") } });
          return JSON.stringify({ first, name: answer.content.name });
        },
      })
      .tool("explicit_for_ever", { run: () => inputRequired({ requests: { name: question("Who?") } }) })
      .tool("explicit_unable", {
        run: () =>
          inputRequired({
            requests: {
              page: {
                method: "elicitation/create",
                params: { mode: "url", message: "Go", url: "https://example.com" },
              },
            },
          }),
      })
      .tool("for_ever", {
        async run(_, ctx) {
          for (let n = 0; ; n += 1) await ctx.confirm(`q${n}`, `${n}?`);
        },
      })
      .tool("large", {
        async run(_, ctx) {
          const { content } = await ctx.elicit("text", {
            message: "Text?",
            form: { type: "object", properties: { text: { type: "string" } } },
          });
          const sure = await ctx.confirm("sure", "Sure?");
          return JSON.stringify({ length: content.text.length, sure });
        },
      })
      .tool("reads", { run: () => "read" })
      .resource("doc:asks", {
        cache: { ttlMs: 60_000, cacheScope: "public" },
        async read(ctx) {
          return String(await ctx.confirm("read", "Read?"));
        },
      })
      .resource("doc:plain", { subscribe: true, cache: { ttlMs: 60_000, cacheScope: "public" }, read: () => "plain" })
      .resource("doc:other", { subscribe: true, read: () => "other" })
      .template("doc:t/{id}", {
        list: async (ctx) => {
          await ctx.confirm?.("list", "List?");
          return [];
        },
        complete: {
          id: async (_value, _known, ctx) => {
            await ctx.confirm?.("complete", "Complete?");
            return [];
          },
        },
        read: () => "t",
      })
      .prompt("asks", {
        async get(_, ctx) {
          return String(await ctx.confirm("get", "Get?"));
        },
      }),
  );
  let made = 0;
  served.update((current) =>
    current.tool("change", {
      run({ what = ["tools"], uris = [] }, ctx) {
        made += 1;
        ctx.progress(1);
        ctx.log("error", "changing");
        served.update((now) => {
          let next = now;
          if (what.includes("tools")) next = next.tool(`made_${made}`, { run: () => "made" });
          if (what.includes("prompts")) next = next.prompt(`made_${made}`, { get: () => "made" });
          if (what.includes("resources")) next = next.resource(`doc:made/${made}`, { read: () => "made" });
          return next;
        });
        for (const uri of uris) served.publish("resources/updated", { uri });
        served.publish("message", { level: "error", data: "outside" });
        return "changed";
      },
    }),
  );
  return served;
}
