import type { JsonSchema } from "portolan/server";
import { array, boolean, count, object, string } from "portolan-server-kit";
import { cut } from "portolan-server-kit/service";

// Slack's answers as far as this server reads them, and what tools return of them.

export interface RawChannel {
  readonly id: string;
  readonly name?: string;
  readonly is_private?: boolean;
  readonly is_archived?: boolean;
  readonly is_member?: boolean;
  readonly topic?: { readonly value: string };
  readonly num_members?: number;
}

export interface Channel {
  readonly id: string;
  readonly name: string;
  readonly isPrivate: boolean;
  readonly isMember: boolean;
  readonly topic: string;
  readonly members: number;
}

export const channelId: JsonSchema = string("Id of the channel, such as C0123456789, from list_channels", {
  pattern: "^[CGD][A-Z0-9]{2,30}$",
});

export const timestamp = (description: string): JsonSchema =>
  string(`${description}, such as 1760000000.000100`, { pattern: "^\\d{1,12}\\.\\d{6}$" });

export const channelSchema: JsonSchema = object({
  id: string("Id of the channel"),
  name: string("Name without #"),
  isPrivate: boolean("True if only its members see it"),
  isMember: boolean("True if the account is a member"),
  topic: string("What it is about"),
  members: count("Number of members"),
});

export function toChannel({ id, name, is_private, is_member, topic, num_members }: RawChannel): Channel {
  return {
    id,
    name: name ?? "",
    isPrivate: is_private ?? false,
    isMember: is_member ?? false,
    topic: topic?.value ?? "",
    members: num_members ?? 0,
  };
}

export function channelLine({ id, name, isPrivate, topic, members }: Channel): string {
  return `#${name} ${id}${isPrivate ? " (private)" : ""}, ${members} members${topic === "" ? "" : `: ${topic}`}`;
}

export interface RawMessage {
  readonly ts: string;
  readonly user?: string;
  readonly username?: string;
  readonly text?: string;
  readonly thread_ts?: string;
  readonly reply_count?: number;
  readonly reactions?: readonly { readonly name: string; readonly count: number }[];
  readonly permalink?: string;
  readonly channel?: { readonly id: string; readonly name: string };
}

export interface Message {
  readonly ts: string;
  readonly author: string;
  readonly text: string;
  readonly replies: number;
  readonly reactions: readonly string[];
}

export const messageSchema: JsonSchema = object({
  ts: string("Timestamp, which identifies the message in its channel"),
  author: string("Id of the account that wrote it"),
  text: string("Text in Slack's own Markdown; cut at a limit"),
  replies: count("Number of replies in its thread"),
  reactions: array(string("Name of the reaction and its count, such as eyes 2"), "Reactions"),
});

export function toMessage(raw: RawMessage, maxChars: number): Message {
  const { ts, user, username, text = "", reply_count = 0, reactions = [] } = raw;
  return {
    ts,
    author: user ?? username ?? "",
    text: cut(text, maxChars),
    replies: reply_count,
    reactions: reactions.map(({ name, count }) => `${name} ${count}`),
  };
}

export function messageLine({ ts, author, text, replies, reactions }: Message): string {
  const more = [...(replies > 0 ? [`${replies} replies`] : []), ...reactions].join(", ");
  return `${ts} ${author}: ${text}${more === "" ? "" : ` [${more}]`}`;
}

export interface RawUser {
  readonly id: string;
  readonly name: string;
  readonly deleted?: boolean;
  readonly is_bot?: boolean;
  readonly profile?: { readonly real_name?: string; readonly title?: string };
}

export interface User {
  readonly id: string;
  readonly name: string;
  readonly realName: string;
  readonly title: string;
  readonly isBot: boolean;
  readonly isActive: boolean;
}

export const userSchema: JsonSchema = object({
  id: string("Id of the account; <@id> in a message mentions it"),
  name: string("Name of the account"),
  realName: string("Name of the person"),
  title: string("What the person does"),
  isBot: boolean("True for a program"),
  isActive: boolean("False if the account was closed"),
});

export function toUser({ id, name, deleted, is_bot, profile }: RawUser): User {
  return {
    id,
    name,
    realName: profile?.real_name ?? "",
    title: profile?.title ?? "",
    isBot: is_bot ?? false,
    isActive: deleted !== true,
  };
}

export interface RawFile {
  readonly id: string;
  readonly name?: string;
  readonly title?: string;
  readonly mimetype?: string;
  readonly size?: number;
  readonly user?: string;
  readonly created?: number;
  readonly url_private_download?: string;
  readonly url_private?: string;
}

export interface SharedFile {
  readonly id: string;
  readonly name: string;
  readonly type: string;
  readonly size: number;
  readonly author: string;
  readonly created: string;
  readonly uri: string;
}

export const fileSchema: JsonSchema = object({
  id: string("Id of the file"),
  name: string("Name"),
  type: string("Media type"),
  size: count("Size in bytes"),
  author: string("Id of the account that shared it"),
  created: string("When it was shared, such as 2026-11-19T10:00:00.000Z"),
  uri: string("The resource with its content"),
});

export function toFile({ id, name, title, mimetype, size, user, created }: RawFile): SharedFile {
  return {
    id,
    name: name ?? title ?? "",
    type: mimetype ?? "application/octet-stream",
    size: size ?? 0,
    author: user ?? "",
    created: new Date((created ?? 0) * 1000).toISOString(),
    uri: `slack://file/${id}`,
  };
}

export function fileLine({ id, name, type, size, created }: SharedFile): string {
  return `${id} ${name}, ${type}, ${size} bytes, ${created}`;
}
