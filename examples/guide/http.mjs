// @ts-check
// The same server behind node:http, Express, Fastify, Hono and a Next.js route handler.

import { createServer as createHttpServer } from "node:http";
import express from "express";
import fastify from "fastify";
import { Hono } from "hono";
import { protect } from "portolan/auth/server";
import { connect } from "portolan/client";
import { serveHttp } from "portolan/server/http";
import { dice } from "../http/server.mjs";

// region node
export const overNode = () => {
  const mcp = serveHttp(dice);
  return createHttpServer((req, res) => {
    if (req.url === "/mcp") mcp.node(req, res);
    else res.writeHead(404).end();
  });
};
// endregion

// region express
export const overExpress = () => {
  const mcp = serveHttp(dice);
  return express().all("/mcp", mcp.node);
};
// endregion

// region fastify
export const overFastify = () => {
  const mcp = serveHttp(dice);
  const app = fastify();
  app.all("/mcp", (request, reply) => {
    reply.hijack();
    mcp.node(Object.assign(request.raw, { body: request.body }), reply.raw);
  });
  return app;
};
// endregion

// region hono
export const overHono = () => {
  const mcp = serveHttp(dice);
  return new Hono().all("/mcp", (context) => mcp.fetch(context.req.raw));
};
// endregion

// region next
const mcp = serveHttp(dice);

export const POST = mcp.fetch;
export const GET = mcp.fetch;
export const DELETE = mcp.fetch;
// endregion

// region use
/** @param {string} url */
export async function roll(url) {
  const client = await connect(url);
  const { structuredContent } = await client.callTool("roll", { dice: 2 });
  await client.close();
  return structuredContent;
}
// endregion

// region restricted
/** @param {(token: string | undefined) => Promise<string | undefined>} findUser returns undefined for a bad token */
export const restricted = (findUser) =>
  serveHttp(dice, {
    allowedHosts: ["mcp.example.com"],
    allowedOrigins: ["https://app.example.com"],
    async verify(request) {
      const user = await findUser(request.header("authorization")?.replace("Bearer ", ""));
      if (user !== undefined) return { key: user };
      return { status: 401, why: "Send a valid bearer token", headers: { "www-authenticate": "Bearer" } };
    },
    sessions: { idleMs: 10 * 60_000, max: 1_000 },
    limits: { bodyBytes: 1024 * 1024, streams: 500 },
  });
// endregion

// region card
export const withCard = () =>
  serveHttp(dice, {
    card: {
      name: "com.example/dice",
      description: "Rolls dice",
      remotes: [{ url: "https://mcp.example.com/mcp" }],
      catalog: true,
    },
  });
// endregion

// region mounted
export const cardOverExpress = () => {
  const mcp = withCard();
  return express().all("/mcp", mcp.node).get(["/mcp/server-card", "/.well-known/ai-catalog.json"], mcp.node);
};
// endregion

// region tokens
/** @param {string} issuer the authorization server whose tokens this server accepts */
export const withTokens = (issuer) =>
  serveHttp(dice, {
    auth: protect({
      resource: "https://mcp.example.com/mcp",
      issuers: [issuer],
      scopes: ["dice:use"],
      scopesFor: ({ method, name }) => (method === "tools/call" && name === "roll" ? ["dice:roll"] : []),
    }),
  });
// endregion
