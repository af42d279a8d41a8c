import type { Completer, Server } from "portolan/server";
import { type CallerContext, completer, followed, reader, readFor } from "portolan-server-kit/service";
import {
  type RawChannel,
  type RawFile,
  type RawMessage,
  type RawUser,
  toChannel,
  toFile,
  toMessage,
  toUser,
} from "./shapes.ts";
import { type Slack, visibleChannels } from "./slack.ts";

const perPage = 200;

/** Adds channels, their messages, threads, tagged messages and users as resources. */
export function addResources(server: Server, slack: Slack): Server {
  const json = { mimeType: "application/json" };
  const { access } = slack;
  const channel = completeChannel(slack);
  return server
    .resource("slack://channels", {
      ...json,
      name: "channels",
      title: "Channels",
      description: "The first 200 channels that the account can see",
      read: (ctx) =>
        readFor(access, ctx, async () => JSON.stringify((await readChannels(slack, ctx)).map(toChannel), null, 2)),
    })
    .resource("slack://users", {
      ...json,
      name: "users",
      title: "Users",
      description: "The first 200 accounts of the workspace",
      read: (ctx) =>
        readFor(access, ctx, async () => {
          const { members } = await slack.read<{ members: RawUser[] }>("users.list", { limit: perPage }, ctx);
          return JSON.stringify(members.map(toUser), null, 2);
        }),
    })
    .template("slack://channel/{channel}", {
      ...json,
      name: "channel",
      title: "A channel",
      description: "The newest 200 messages of a channel, by its id; a subscription reports new ones",
      complete: { channel },
      ...followed(access, async (values, ctx) => {
        const form = { channel: String(values["channel"]), limit: 1 };
        const { messages } = await slack.read<{ messages: RawMessage[] }>("conversations.history", form, ctx);
        return messages[0]?.ts;
      }),
      read: reader(access, async (values, ctx) => {
        const form = { channel: String(values["channel"]) };
        const { items } = await slack.readMessages("conversations.history", form, { limit: perPage }, ctx);
        return JSON.stringify(items, null, 2);
      }),
    })
    .template("slack://channel/{channel}/thread/{ts}", {
      ...json,
      name: "thread",
      title: "A thread",
      description: "A message and its first 200 replies",
      complete: { channel },
      read: reader(access, async (values, ctx) => {
        const form = { channel: String(values["channel"]), ts: String(values["ts"]) };
        const { items } = await slack.readMessages("conversations.replies", form, { limit: perPage }, ctx);
        return JSON.stringify(items, null, 2);
      }),
    })
    .template("slack://file/{file}", {
      name: "file",
      title: "A file",
      description: "The content of a file, by its id from list_files",
      read: reader(access, async (values, ctx, uri) => {
        const { file } = await slack.read<{ file: RawFile }>("files.info", { file: String(values["file"]) }, ctx);
        const bytes = Buffer.from(await slack.download(file.url_private_download ?? file.url_private ?? "", ctx));
        const text = bytes.toString("utf8");
        const mimeType = toFile(file).type;
        if (Buffer.from(text, "utf8").equals(bytes) && !text.includes("\0")) return { uri, mimeType, text };
        return { uri, mimeType, blob: bytes.toString("base64") };
      }),
    })
    .template("slack://messages/{words}", {
      ...json,
      name: "messages",
      title: "Messages with words",
      description: "The newest messages with these words, such as decision; needs the token of a person",
      read: reader(access, async (values, ctx) => {
        const form = { query: String(values["words"]), count: 100, sort: "timestamp" };
        const { messages } = await slack.read<{ messages: { matches: RawMessage[] } }>("search.messages", form, ctx);
        const found = messages.matches.map((one) => ({
          channel: one.channel?.id,
          ...toMessage(one, access.limits.maxChars),
        }));
        return JSON.stringify(found, null, 2);
      }),
    })
    .template("slack://tagged/{reaction}", {
      ...json,
      name: "tagged",
      title: "Tagged messages",
      description: "The newest messages to which the account has reacted with an emoji, such as eyes",
      read: reader(access, async (values, ctx) => {
        const { items } = await slack.read<{ items: Reacted[] }>("reactions.list", { full: true, limit: perPage }, ctx);
        const tagged = items.flatMap(({ channel, message }) =>
          message?.reactions?.some(({ name }) => name === String(values["reaction"]))
            ? { channel, ...toMessage(message, access.limits.maxChars) }
            : [],
        );
        return JSON.stringify(tagged, null, 2);
      }),
    });
}

interface Reacted {
  readonly channel?: string;
  readonly message?: RawMessage;
}

async function readChannels(slack: Slack, ctx: CallerContext): Promise<readonly RawChannel[]> {
  const form = { ...visibleChannels, limit: perPage };
  return (await slack.read<{ channels: RawChannel[] }>("conversations.list", form, ctx)).channels;
}

/** Completes the id of a channel by its name or its id. */
function completeChannel(slack: Slack): Completer<undefined> {
  return completer(async (_value, _known, ctx) =>
    (await readChannels(slack, ctx)).map(({ id, name = "" }) => [id, name, `#${name}`] as const),
  );
}
