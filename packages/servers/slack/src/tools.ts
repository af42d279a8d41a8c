import { type JsonSchema, type ToolDefinition, ToolError } from "portolan/server";
import { array, boolean, count, object, string, textResult } from "portolan-server-kit";
import { visible } from "portolan-server-kit/consent";
import {
  bytesOf,
  type CallerContext,
  fileInput,
  type ListPage,
  listTool,
  type PageRequest,
  serviceAnnotations,
  shownOf,
  type WrittenFile,
} from "portolan-server-kit/service";
import {
  type Channel,
  channelId,
  channelLine,
  channelSchema,
  fileLine,
  fileSchema,
  type Message,
  messageLine,
  messageSchema,
  type RawChannel,
  type RawMessage,
  type RawUser,
  type SharedFile,
  timestamp,
  toChannel,
  toMessage,
  toUser,
  type User,
  userSchema,
} from "./shapes.ts";
import { pageSize, type Slack, visibleChannels } from "./slack.ts";

/** The tool `list_channels`. */
export function listChannelsTool(slack: Slack): ToolDefinition<PageRequest, ListPage<Channel>, undefined> {
  return listTool<object, Channel>({
    title: "List channels",
    description: "Lists the channels that the account can see, without archived ones",
    input: object({}),
    item: channelSchema,
    size: pageSize,
    read: (args, ctx) =>
      slack.readPage("conversations.list", visibleChannels, args, ctx, ({ channels }: { channels: RawChannel[] }) =>
        channels.map(toChannel),
      ),
    lineOf: channelLine,
  });
}

interface InChannel {
  readonly channel: string;
}

interface ReadChannel extends InChannel {
  readonly oldest?: string;
  readonly latest?: string;
}

/** The tool `read_channel`. */
export function readChannelTool(slack: Slack): ToolDefinition<ReadChannel & PageRequest, ListPage<Message>, undefined> {
  return listTool<ReadChannel, Message>({
    title: "Read a channel",
    description: "Reads the messages of a channel, newest first",
    input: object(
      {
        channel: channelId,
        oldest: timestamp("Only messages after this time"),
        latest: timestamp("Only messages before this time"),
      },
      ["oldest", "latest"],
    ),
    item: messageSchema,
    size: pageSize,
    read: ({ channel, oldest, latest, ...page }, ctx) =>
      slack.readMessages("conversations.history", { channel, oldest, latest }, page, ctx),
    lineOf: messageLine,
  });
}

interface ReadThread extends InChannel {
  readonly ts: string;
}

/** The tool `read_thread`. */
export function readThreadTool(slack: Slack): ToolDefinition<ReadThread & PageRequest, ListPage<Message>, undefined> {
  return listTool<ReadThread, Message>({
    title: "Read a thread",
    description: "Reads a message and its replies, oldest first",
    input: object({ channel: channelId, ts: timestamp("Timestamp of the first message") }),
    item: messageSchema,
    size: pageSize,
    read: ({ channel, ts, ...page }, ctx) => slack.readMessages("conversations.replies", { channel, ts }, page, ctx),
    lineOf: messageLine,
  });
}

interface SearchMatch extends Message {
  readonly channel: string;
  readonly url: string;
}

interface Search {
  readonly query: string;
  readonly limit?: number;
}

/** The tool `search_messages`. */
export function searchMessagesTool(
  slack: Slack,
): ToolDefinition<Search, { matches: SearchMatch[]; total: number }, undefined> {
  return {
    title: "Search messages",
    description: "Finds messages, newest first. Needs the token of a person; tokens of bots cannot search",
    input: object(
      {
        query: string('Search words and modifiers, such as "release in:#general from:@ada has::eyes:"', {
          minLength: 1,
          maxLength: 500,
        }),
        limit: count("Matches to return. Default: 20", { minimum: 1, maximum: 100 }),
      },
      ["limit"],
    ),
    output: object({
      matches: array(
        object({
          ...(messageSchema["properties"] as { [name: string]: JsonSchema }),
          channel: string("Name of the channel"),
          url: string("Address of the message for people"),
        }),
        "Messages",
      ),
      total: count("How many there are in all"),
    }),
    annotations: serviceAnnotations.reads,
    async run({ query, limit = 20 }, ctx) {
      const { messages } = await slack.read<{ messages: { total: number; matches: RawMessage[] } }>(
        "search.messages",
        { query, count: limit, sort: "timestamp" },
        ctx,
      );
      const matches = messages.matches.map((raw) => ({
        ...toMessage(raw, slack.access.limits.maxChars),
        channel: raw.channel?.name ?? "",
        url: raw.permalink ?? "",
      }));
      const lines = matches.map((match) => `#${match.channel} ${messageLine(match)}`);
      const text = [...lines, `${matches.length} of ${messages.total} matches`].join("\n");
      return textResult(text, { matches, total: messages.total });
    },
  };
}

/** The tool `list_users`. */
export function listUsersTool(slack: Slack): ToolDefinition<PageRequest, ListPage<User>, undefined> {
  return listTool<object, User>({
    title: "List users",
    description: "Lists the accounts of the workspace",
    input: object({}),
    item: userSchema,
    size: pageSize,
    read: (args, ctx) =>
      slack.readPage("users.list", {}, args, ctx, ({ members }: { members: RawUser[] }) => members.map(toUser)),
    lineOf: ({ id, name, realName, title }) => `${id} ${name}: ${realName}${title && `, ${title}`}`,
  });
}

interface ListFiles {
  readonly channel?: string;
}

/** The tool `list_files`. */
export function listFilesTool(slack: Slack): ToolDefinition<ListFiles & PageRequest, ListPage<SharedFile>, undefined> {
  return listTool<ListFiles, SharedFile>({
    title: "List files",
    description: "Lists the files that the account can see, newest first. The resource of a file has its content",
    input: object({ channel: { ...channelId, description: "Only files of this channel" } }, ["channel"]),
    item: fileSchema,
    size: pageSize,
    read: ({ channel, ...page }, ctx) => slack.readFiles({ channel }, page, ctx),
    lineOf: fileLine,
  });
}

interface PostMessage {
  readonly channel: string;
  readonly text: string;
  readonly thread?: string;
}

interface Posted {
  readonly channel: string;
  readonly ts: string;
}

/** The tool `post_message`. */
export function postMessageTool(slack: Slack): ToolDefinition<PostMessage, Posted, undefined> {
  return {
    title: "Post a message",
    description: "Posts a message to a channel or a thread, after the user agrees",
    input: object(
      {
        channel: channelId,
        text: string("Text, Markdown", { minLength: 1, maxLength: 12_000 }),
        thread: timestamp("Timestamp of the first message of a thread, to reply there"),
      },
      ["thread"],
    ),
    output: object({ channel: string("Id of the channel"), ts: string("Timestamp of the new message") }),
    annotations: serviceAnnotations.adds,
    async run({ channel, text, thread }, ctx) {
      const { name } = await readChannel(slack, channel, ctx);
      const place = thread === undefined ? `#${name}` : `a thread of #${name}`;
      return slack.access.change(ctx, visible(`Post this to ${place}?\n\n${text}`), async () => {
        const form = { channel, markdown_text: text, thread_ts: thread };
        const { ts } = await slack.write<{ ts: string }>("chat.postMessage", form, ctx);
        return textResult(`Posted to ${place}: ${ts}`, { channel, ts });
      });
    },
  };
}

async function readChannel(slack: Slack, channel: string, ctx: CallerContext): Promise<Channel> {
  const found = await slack.read<{ channel: RawChannel }>("conversations.info", { channel }, ctx);
  return toChannel(found.channel);
}

interface AddReaction {
  readonly channel: string;
  readonly ts: string;
  readonly reaction: string;
}

/** The tool `add_reaction`. */
export function addReactionTool(slack: Slack): ToolDefinition<AddReaction, { isNew: boolean }, undefined> {
  return {
    title: "React to a message",
    description: "Adds a reaction to a message, after the user agrees",
    input: object({
      channel: channelId,
      ts: timestamp("Timestamp of the message"),
      reaction: string("Name of the emoji without colons, such as eyes", { pattern: "^[a-z0-9_+'-]{1,100}$" }),
    }),
    output: object({ isNew: boolean("Always true: a reaction that is there already is an error") }),
    annotations: serviceAnnotations.sets,
    async run({ channel, ts, reaction }, ctx) {
      const { messages } = await slack.read<{ messages: RawMessage[] }>(
        "conversations.history",
        { channel, oldest: ts, latest: ts, inclusive: true, limit: 1 },
        ctx,
      );
      const [message] = messages;
      if (!message) throw new ToolError(`No message ${ts} in ${channel}; read_channel lists the messages`);
      const { name } = await readChannel(slack, channel, ctx);
      const question = `React with :${reaction}: in #${name} to this message?\n\n${toMessage(message, 1_000).text}`;
      return slack.access.change(ctx, visible(question), async () => {
        await slack.write("reactions.add", { channel, timestamp: ts, name: reaction }, ctx);
        return textResult(`Reacted with :${reaction}:`, { isNew: true });
      });
    },
  };
}

interface UploadFile extends WrittenFile {
  readonly channel: string;
  readonly name: string;
  readonly comment?: string;
  readonly thread?: string;
}

/** The tool `upload_file`. */
export function uploadFileTool(
  slack: Slack,
): ToolDefinition<UploadFile, { file: string; channel: string; size: number }, undefined> {
  return {
    title: "Upload a file",
    description: "Uploads a file and shares it in a channel or a thread, after the user agrees",
    input: object(
      {
        channel: channelId,
        ...fileInput,
        comment: string("What to say about it", { minLength: 1, maxLength: 2_000 }),
        thread: timestamp("Timestamp of the first message of a thread, to share it there"),
      },
      ["encoding", "comment", "thread"],
    ),
    output: object({
      file: string("Id of the file"),
      channel: string("Id of the channel"),
      size: count("Size in bytes"),
    }),
    annotations: serviceAnnotations.adds,
    async run({ channel, name, comment, thread, ...file }, ctx) {
      const bytes = bytesOf(file);
      const channelName = (await readChannel(slack, channel, ctx)).name;
      const place = thread === undefined ? `#${channelName}` : `a thread of #${channelName}`;
      const about = [`Upload ${name} (${bytes.length} bytes) to ${place}?`, comment ?? [], shownOf(file)]
        .flat()
        .join("\n\n");
      return slack.access.change(ctx, visible(about), async () => {
        const share = { channel_id: channel, initial_comment: comment, thread_ts: thread };
        const id = await slack.upload({ name, bytes }, share, ctx);
        return textResult(`Uploaded ${name} to ${place}: ${id}`, { file: id, channel, size: bytes.length });
      });
    },
  };
}
