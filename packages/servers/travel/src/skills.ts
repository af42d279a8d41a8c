import type { ServerExtension } from "portolan/server";
import { type SkillSource, skills, skillsOf } from "portolan/server/skills";

const name = "vacation-planning";
const instructions = `---
name: ${name}
description: How to plan a vacation with the travel, weather and calendar servers. Use it before the first search.
license: MIT
---

# Planning a vacation

1. Read the calendar of the month first. Never search for days that are taken.
2. Read \`travel://preferences/{region}\` and one past trip: they beat the lowest price.
3. Look for flights before hotels, and tell the user how many there are.
4. Check the weather of the days, and say if it speaks against them.
5. Book flights and hotel in one call, so that the user confirms them together.
6. Read \`references/after-booking.md\` when everything is booked.
`;
const afterBooking = `# After the booking

- Create a calendar event with the city in its title.
- Offer an out-of-office message, and send nothing that the user has not seen.
`;

/** Instructions for a model that plans a vacation, as a skill. */
export function createSkills(): ServerExtension {
  const files = { [`${name}/SKILL.md`]: instructions, [`${name}/references/after-booking.md`]: afterBooking };
  let made: Promise<SkillSource> | undefined;
  // Made with the first request, because few clients ask for skills.
  const source = () => (made ??= skillsOf(files, { prefix: "travel" }));
  return skills({
    list: async (cursor, request) => (await source()).list(cursor, request),
    get: async (uri, request) => (await source()).get(uri, request),
    read: async (uri, request) => (await source()).read(uri, request),
    directory: async (uri, request) => (await source()).directory?.(uri, request),
  });
}
