// region read
import { listSkills, openSkill, readSkillFile, SkillError } from "portolan/client/skills";

/** @param {import("portolan/client").Client} client @param {string} name */
export async function instructions(client, name) {
  const skill = (await listSkills(client)).find(({ frontmatter }) => frontmatter.name === name);
  if (!skill) throw new Error(`The server lists no skill ${name}`);
  try {
    const { body } = await openSkill(client, skill);
    const email = await readSkillFile(client, skill, "examples/email.md");
    return { body, email: email.text };
  } catch (error) {
    if (!(error instanceof SkillError)) throw error;
    // Never use the content: the server has changed the skill, or somebody has on its way.
    throw new Error(`${error.uri} is not what was listed (${error.mismatch})`);
  }
}
// endregion
