// region load
/** @param {import("portolan-host").Host} host */
export async function refundText(host) {
  const { skills } = await host.skills.list();
  const found = skills.find(({ server, skill }) => server === "shop" && skill.frontmatter.name === "refunds");
  if (!found) throw new Error("The shop lists no skill for refunds");
  // Asks the user, unless an earlier yes covers exactly these files.
  const loaded = await host.skills.load(found.server, found.skill.uri);
  const email = await host.skills.read(loaded, "examples/email.md");
  return { instructions: loaded.body, email: email.text };
}
// endregion

// region ask
/** @param {import("portolan-host").ApprovalQuestion} question @param {(text: string) => Promise<boolean>} confirm */
export async function approve({ server, action }, confirm) {
  if (action.kind !== "skill") return false;
  const { skill, changes = [] } = action;
  const lines = [`${server} offers the skill ${skill.frontmatter.name}: ${skill.frontmatter.description}`];
  for (const { uri, how } of changes) lines.push(`${how} since you loaded it last: ${uri}`);
  return { allow: await confirm(lines.join("\n")), for: "always" };
}
// endregion
