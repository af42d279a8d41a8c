// region folder
import { createServer } from "portolan/server";
import { skills } from "portolan/server/skills";
import { skillsFrom } from "portolan/server/skills/node";

export const folder = await skillsFrom(new URL("skills", import.meta.url), { prefix: "acme" });
export const server = createServer({ name: "shop", version: "1.0.0" }).extend(skills(folder));

// endregion

// region memory
import { skillsOf } from "portolan/server/skills";

const greeting = "---\nname: greeting\ndescription: How we greet\n---\nSay moin.\n";
export const small = createServer({ name: "small", version: "1.0.0" }).extend(
  skills(await skillsOf({ "greeting/SKILL.md": greeting })),
);
// endregion

// region source
/** @type {import("portolan/server/skills").SkillSource} */
const reports = {
  list: () => ({ skills: [entry] }),
  get: (uri) => (uri === entry.uri ? entry : undefined),
  // `principal` is who asks: a source may have other skills for each.
  read: (uri, { principal }) => (uri === entry.uri ? reportFor(principal.key) : undefined),
};
/** @type {import("portolan/server/skills").Skill} */
const entry = {
  uri: "skill://daily/SKILL.md",
  frontmatter: { name: "daily", description: "The report of today" },
  resources: "dynamic",
};
const reportFor = (/** @type {string} */ who) =>
  `---\nname: daily\ndescription: The report of today\n---\nAll is well, ${who}.\n`;
// endregion

export const dynamic = createServer({ name: "reports", version: "1.0.0" }).extend(skills(reports));
