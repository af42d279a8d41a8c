import type { Completer, Context, ReadReturn, ResourceWatcher, Server, TemplateValues } from "portolan/server";
import { toolErrorsAsInvalidParams } from "portolan-server-kit";
import { ServiceError, watchVersion } from "portolan-server-kit/service";
import { type RawChannel, type RawMessage, type RawUser, toChannel, toMessage, toUser } from "./shapes.ts";
import type { CallerContext, Slack } from "./slack.ts";

const perPage = 200;
const maxSuggestions = 100;

/** Adds channels, their messages, threads, tagged messages and users as resources. */
export function addResources<T>(server: Server<undefined, T>, slack: Slack): Server<undefined, T> {
  const json = { mimeType: "application/json" };
  const channel = completeChannel(slack);
  const messages = (raw: readonly RawMessage[]) =>
    JSON.stringify(
      raw.map((one) => toMessage(one, slack.limits.maxChars)),
      null,
      2,
    );
  return server
    .resource("slack://channels", {
      ...json,
      name: "channels",
      title: "Channels",
      description: "The first 200 channels that the account can see",
      read: (ctx) =>
        toolErrorsAsInvalidParams(
          readChannels(slack, ctx).then((found) => JSON.stringify(found.map(toChannel), null, 2)),
        ),
    })
    .resource("slack://users", {
      ...json,
      name: "users",
      title: "Users",
      description: "The first 200 accounts of the workspace",
      read: (ctx) =>
        toolErrorsAsInvalidParams(
          slack
            .read<{ members: RawUser[] }>("users.list", { limit: perPage }, ctx)
            .then(({ members }) => JSON.stringify(members.map(toUser), null, 2)),
        ),
    })
    .template("slack://channel/{channel}", {
      ...json,
      name: "channel",
      title: "A channel",
      description: "The newest 200 messages of a channel, by its id; a subscription reports new ones",
      complete: { channel },
      watch: watcher(slack),
      read: reader(async (values, ctx) => {
        const form = { channel: String(values["channel"]), limit: perPage };
        return messages((await slack.read<{ messages: RawMessage[] }>("conversations.history", form, ctx)).messages);
      }),
    })
    .template("slack://channel/{channel}/thread/{ts}", {
      ...json,
      name: "thread",
      title: "A thread",
      description: "A message and its first 200 replies",
      complete: { channel },
      read: reader(async (values, ctx) => {
        const form = { channel: String(values["channel"]), ts: String(values["ts"]), limit: perPage };
        return messages((await slack.read<{ messages: RawMessage[] }>("conversations.replies", form, ctx)).messages);
      }),
    })
    .template("slack://tagged/{reaction}", {
      ...json,
      name: "tagged",
      title: "Tagged messages",
      description: "The newest messages to which the account has reacted with an emoji, such as eyes",
      read: reader(async (values, ctx) => {
        const form = { full: true, limit: perPage };
        const { items } = await slack.read<{ items: Reacted[] }>("reactions.list", form, ctx);
        const tagged = items.filter(({ message }) =>
          message?.reactions?.some(({ name }) => name === String(values["reaction"])),
        );
        return JSON.stringify(
          tagged.map(({ channel, message }) => ({
            channel,
            ...toMessage(message as RawMessage, slack.limits.maxChars),
          })),
          null,
          2,
        );
      }),
    });
}

interface Reacted {
  readonly channel?: string;
  readonly message?: RawMessage;
}

async function readChannels(slack: Slack, ctx: CallerContext): Promise<readonly RawChannel[]> {
  const form = { types: "public_channel,private_channel", exclude_archived: true, limit: perPage };
  return (await slack.read<{ channels: RawChannel[] }>("conversations.list", form, ctx)).channels;
}

/** Returns a reader: nothing is there if Slack has nothing there, and other failures say why. */
function reader(read: (values: TemplateValues, ctx: Context) => Promise<ReadReturn>) {
  return (values: TemplateValues, ctx: Context): Promise<ReadReturn> =>
    toolErrorsAsInvalidParams(
      read(values, ctx).catch((reason: unknown) => {
        if (reason instanceof ServiceError && reason.failure.kind === "not-found") return undefined;
        throw reason;
      }),
    );
}

/** Returns a watcher that looks now and then whether a channel has a new message. */
function watcher(slack: Slack): ResourceWatcher {
  return (_uri, changed, values, { principal }) =>
    toolErrorsAsInvalidParams(
      watchVersion({
        principal,
        everyMs: slack.limits.pollMs,
        versionOf: async (ctx) => {
          const form = { channel: String(values["channel"]), limit: 1 };
          const { messages } = await slack.read<{ messages: RawMessage[] }>("conversations.history", form, ctx);
          return messages[0]?.ts;
        },
        changed: () => changed(),
      }),
    );
}

/** Completes the id of a channel by its name or its id. A failure gives no suggestions: the person is still typing. */
function completeChannel(slack: Slack): Completer<undefined> {
  return async (value, _known, ctx) => {
    const found = await readChannels(slack, ctx).catch(() => []);
    const typed = value.replace(/^#/, "").toLowerCase();
    const isMeant = ({ id, name = "" }: RawChannel) => [id, name].some((one) => one.toLowerCase().startsWith(typed));
    return found
      .filter(isMeant)
      .map(({ id }) => id)
      .slice(0, maxSuggestions);
  };
}
