import type { HttpRequirement } from "../requirement.ts";
import { base } from "./base.ts";
import { batches } from "./batches.ts";
import { cancelling } from "./cancelling.ts";
import { cards } from "./cards.ts";
import { endings } from "./endings.ts";
import { headers } from "./headers.ts";
import { hostileBytes } from "./hostile-bytes.ts";
import { hostileClients } from "./hostile-clients.ts";
import { hostilePages } from "./hostile-pages.ts";
import { hostileTexts } from "./hostile-texts.ts";
import { httpSse } from "./http-sse.ts";
import { limits } from "./limits.ts";
import { posts } from "./posts.ts";
import { resumption } from "./resumption.ts";
import { sessions } from "./sessions.ts";
import { stateless } from "./stateless.ts";
import { streams } from "./streams.ts";
import { takeover } from "./takeover.ts";
import { tasksOfCallers } from "./tasks.ts";
import { whole } from "./whole.ts";

/** All sections of requirements, which the coverage gate checks. */
export const sections: { readonly [name: string]: readonly HttpRequirement[] } = {
  base,
  batches,
  cancelling,
  cards,
  endings,
  headers,
  hostileBytes,
  hostileClients,
  hostilePages,
  hostileTexts,
  httpSse,
  limits,
  posts,
  resumption,
  sessions,
  stateless,
  streams,
  takeover,
  tasksOfCallers,
  whole,
};
