// @ts-check
// Your own authorization server, in front of an MCP server over HTTP.

import { writeFile } from "node:fs/promises";
import express from "express";
import { protect } from "portolan/auth/server";
import { createServer } from "portolan/server";
import { serveHttp } from "portolan/server/http";
import { createAuthority, hashPassword, upstream, usersIn } from "portolan-authority";

// region users
/** @param {string} path */
export async function writeUsers(path) {
  const ada = { name: "ada", displayName: "Ada Lovelace", password: await hashPassword("analytical engine") };
  await writeFile(path, JSON.stringify({ users: [ada] }), { mode: 0o600 });
}
// endregion

const whoami = createServer({ name: "whoami", version: "1.0.0" }).tool("whoami", {
  run: (_, { principal }) => principal.subject ?? "anonymous",
});

// region own
/**
 * @param {string} origin
 * @param {string} users
 */
export async function withUsers(origin, users) {
  const resource = `${origin}/mcp`;
  const authority = await createAuthority({
    issuer: origin,
    name: "Acme",
    resources: [{ resource, name: "Who am I", scopes: { "name:read": "Learn your name" } }],
    signIn: usersIn(users),
    registration: { dynamic: true },
  });
  const auth = protect({ resource, issuers: [authority.protection], scopes: ["name:read"] });
  return express().use(authority.handle).use(serveHttp(whoami, { auth }).node);
}
// endregion

// region upstream
/**
 * @param {string} origin
 * @param {{ issuer: string, clientId: string, clientSecret: string }} provider
 */
export async function withProvider(origin, provider) {
  const resource = `${origin}/mcp`;
  const authority = await createAuthority({
    issuer: origin,
    name: "Acme",
    resources: [{ resource, name: "Mail", scopes: { "mail:read": "Read your mail" } }],
    signIn: upstream({ ...provider, name: "Big Provider", scopes: ["openid", "offline_access"] }),
    registration: { dynamic: true },
  });
  const mail = createServer({ name: "mail", version: "1.0.0" }).tool("me", {
    async run(_, { principal: { subject = "", clientId = "" } }) {
      const token = await authority.upstreamToken({ subject, clientId });
      const response = await fetch(`${provider.issuer}/me`, { headers: { authorization: `Bearer ${token}` } });
      return response.text();
    },
  });
  const auth = protect({ resource, issuers: [authority.protection], scopes: ["mail:read"] });
  return express().use(authority.handle).use(serveHttp(mail, { auth }).node);
}
// endregion

// region shared
/**
 * @param {string} issuer
 * @param {import("portolan/storage").Storage} storage
 * @param {readonly string[]} secrets the first one seals, all of them open
 */
export const inEveryProcess = (issuer, storage, secrets) =>
  createAuthority({
    issuer,
    name: "Acme",
    resources: [{ resource: "https://mcp.example.com/mcp", scopes: { "name:read": "Learn your name" } }],
    signIn: usersIn("users.json"),
    storage,
    secrets,
    onEvent: (event) => console.log(JSON.stringify(event)),
  });
// endregion
