// The features of the fixture server that ask its client.
import { form, inputRequired } from "portolan/server";
import { z } from "zod";

const nameForm = form(
  z.object({
    name: z.string().min(1).meta({ title: "Name" }),
    age: z.int().min(0).max(150).optional(),
    size: z.enum(["s", "m", "l"]).default("m"),
    news: z.boolean().optional(),
  }),
);
const colourForm = form(z.object({ colour: z.string() }));

const turn = () => new Promise((resolve) => setImmediate(resolve));
const label = z.object({ label: z.string() });

/** Adds tools, a resource and a prompt that ask; their handlers report their actions to `note`. */
export function withQuestions(server, note) {
  return server
    .tool("ask-form", {
      run: async (_, context) => {
        const answer = await context.elicit("name", { message: "Who are you?", form: nameForm });
        if (answer.action !== "accept") return `no name: ${answer.action}`;
        const { name, size } = answer.content;
        return `Hello ${name}, size ${size}`;
      },
    })
    .tool("ask-confirm", {
      run: async (_, context) => ((await context.confirm("sure", "Really?")) ? "confirmed" : "refused"),
    })
    .tool("ask-url", {
      input: label,
      run: async ({ label }, context) => {
        const url = `https://example.com/consent?for=${label}`;
        const { action } = await context.openUrl("consent", { message: "Please allow it", url, ready: turn });
        return `visit: ${action}`;
      },
    })
    .tool("sample", {
      input: z.object({ text: z.string() }),
      run: async ({ text }, context) => {
        const answer = await context.sample("summary", {
          messages: [{ role: "user", content: { type: "text", text: `Summarize: ${text}` } }],
          systemPrompt: "Be brief",
          modelPreferences: { hints: [{ name: "small" }], speedPriority: 1 },
          maxTokens: 50,
        });
        return `${answer.model}: ${answer.content.text}`;
      },
    })
    .tool("sample-with-tools", {
      run: async (_, context) => {
        const ask = { role: "user", content: { type: "text", text: "What is 2+3?" } };
        const add = { name: "add", description: "Adds", inputSchema: { type: "object" } };
        const first = await context.sample("use", { messages: [ask], tools: [add], maxTokens: 50 });
        const uses = [first.content].flat().filter((block) => block.type === "tool_use");
        const results = uses.map(({ id, input }) => {
          const text = String(input.a + input.b);
          return { type: "tool_result", toolUseId: id, content: [{ type: "text", text }] };
        });
        const messages = [ask, { role: "assistant", content: first.content }, { role: "user", content: results }];
        const last = await context.sample("answer", { messages, tools: [add], maxTokens: 50 });
        return [last.content].flat()[0].text;
      },
    })
    .tool("ask-roots", {
      run: async (_, context) => (await context.roots()).map(({ uri, name }) => `${name} ${uri}`).join("\n"),
    })
    .tool("ask-together", {
      description: "Three questions at once",
      run: async (_, context) => {
        const [colour, summary, roots] = await Promise.all([
          context.elicit("colour", { message: "Which colour?", form: colourForm }),
          context.sample("poem", {
            messages: [{ role: "user", content: { type: "text", text: "A poem" } }],
            maxTokens: 10,
          }),
          context.roots(),
        ]);
        return [colour.content.colour, summary.content.text, roots.length].join(" / ");
      },
    })
    .tool("ask-twice", {
      description: "Two questions, one after the other, with an effect before each",
      input: label,
      run: async ({ label }, context) => {
        const first = await context.once("first", () => {
          note(`effect 1 ${label}`);
          return 1;
        });
        const { content: name } = await context.elicit("name", { message: "First?", form: nameForm });
        const second = await context.once("second", () => {
          note(`effect 2 ${label}`);
          return first + 1;
        });
        const { content: colour } = await context.elicit("colour", { message: "Second?", form: colourForm });
        return `${name.name} likes ${colour.colour} (${second})`;
      },
    })
    .tool("ask-explicitly", {
      run: (_, context) => {
        const answer = context.answer("colour");
        if (answer) return `${context.state().round}: ${answer.content.colour}`;
        const params = { mode: "form", message: "Which colour?", requestedSchema: colourForm.schema };
        return inputRequired({ requests: { colour: { method: "elicitation/create", params } }, state: { round: 1 } });
      },
    })
    .tool("ask-parked", {
      asks: "park",
      input: label,
      run: async ({ label }, context) => {
        note(`parked ${label}`);
        const { content } = await context.elicit("colour", { message: "Which colour?", form: colourForm });
        return `parked ${content.colour}`;
      },
    })
    .resource("asks://name", {
      name: "a resource that asks first",
      read: async (context) => {
        const answer = await context.elicit("colour", { message: "Which colour?", form: colourForm });
        return `painted ${answer.content.colour}`;
      },
    })
    .prompt("asks", {
      get: async (_, context) => {
        const answer = await context.elicit("colour", { message: "Which colour?", form: colourForm });
        return `Paint it ${answer.content.colour}`;
      },
    });
}
