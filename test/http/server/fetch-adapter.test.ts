import { useFetchAdapter } from "../kit.ts";
import { type HttpRequirement, runRequirements } from "./requirement.ts";
import { base } from "./sections/base.ts";
import { batches } from "./sections/batches.ts";
import { cancelling } from "./sections/cancelling.ts";
import { cards } from "./sections/cards.ts";
import { headers } from "./sections/headers.ts";
import { posts } from "./sections/posts.ts";
import { resumption } from "./sections/resumption.ts";
import { sessions } from "./sections/sessions.ts";
import { stateless } from "./sections/stateless.ts";
import { streams } from "./sections/streams.ts";
import { takeover } from "./sections/takeover.ts";

const sections: { readonly [name: string]: readonly HttpRequirement[] } = {
  base,
  batches,
  posts,
  sessions,
  streams,
  takeover,
  cancelling,
  cards,
  resumption,
  headers,
  stateless,
};

useFetchAdapter();

for (const [name, requirements] of Object.entries(sections)) {
  runRequirements(
    `${name} through the fetch adapter`,
    requirements.filter(({ adapter }) => adapter !== "node"),
  );
}
