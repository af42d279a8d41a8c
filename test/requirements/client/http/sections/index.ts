import type { HttpRequirement } from "../requirement.ts";
import { ways } from "./connections.ts";
import { httpSse } from "./http-sse.ts";
import { posts } from "./posts.ts";
import { sessions } from "./sessions.ts";
import { stateless } from "./stateless.ts";
import { streams } from "./streams.ts";
import { toolHeaders } from "./tool-headers.ts";

/** Every section of requirements, so that the gate sees them all. */
export const sections: { readonly [name: string]: readonly HttpRequirement[] } = {
  httpSse,
  posts,
  sessions,
  stateless,
  streams,
  toolHeaders,
  ways,
};
