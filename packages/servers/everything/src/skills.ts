import type { ServerExtension } from "portolan/server";
import { skills, skillsOf } from "portolan/server/skills";

const name = "tour";
const tour = `---
name: ${name}
description: Shows what this server can do. Use it when somebody asks for a tour.
license: MIT
---

# Tour

1. Call \`echo\` with a greeting.
2. Read \`references/questions.md\`, then call one of the tools that ask.
`;
const questions = "The tools whose names begin with `ask-` ask the user or the model.\n";

/** A skill: instructions for the model, with digests that hosts verify. */
export function createSkills(): ServerExtension {
  // Digests take a moment; the requests wait for them.
  const made = skillsOf({ [`${name}/SKILL.md`]: tour, [`${name}/references/questions.md`]: questions });
  return skills({
    list: async (cursor, request) => (await made).list(cursor, request),
    get: async (uri, request) => (await made).get(uri, request),
    read: async (uri, request) => (await made).read(uri, request),
    directory: async (uri, request) => (await made).directory?.(uri, request),
  });
}
