import type { HttpRequirement } from "../requirement.ts";
import { connections } from "./connections.ts";
import { httpSse } from "./http-sse.ts";
import { posts } from "./posts.ts";
import { sessions } from "./sessions.ts";
import { stateless } from "./stateless.ts";
import { streams } from "./streams.ts";
import { toolHeaders } from "./tool-headers.ts";

/** All sections of requirements, which the coverage gate checks. */
export const sections: { readonly [name: string]: readonly HttpRequirement[] } = {
  httpSse,
  posts,
  sessions,
  stateless,
  streams,
  toolHeaders,
  connections,
};
