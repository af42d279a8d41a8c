// A server with a skill at the limits, and two beyond them. Its source has no directories.
import { createServer } from "portolan/server";
import { skills } from "portolan/server/skills";

const digest = `sha256:${"0".repeat(64)}`;

function skill(name, count, bytes) {
  const resources = Array.from({ length: count }, (_, at) => ({
    uri: `skill://${name}/${at === 0 ? "SKILL.md" : `file-${at}.txt`}`,
    digest,
    size: at === 0 ? bytes : 0,
  }));
  return { uri: `skill://${name}/SKILL.md`, frontmatter: { name, description: "A large skill" }, resources };
}

const mebibyte = 1024 * 1024;
const all = [skill("full", 512, 16 * mebibyte), skill("crowded", 513, mebibyte), skill("heavy", 2, 16 * mebibyte + 1)];

/** @type {import("portolan/server/skills").SkillSource} */
const source = {
  list: () => ({ skills: all }),
  get: (uri) => all.find((one) => one.uri === uri),
  read: () => undefined,
};

export default createServer({ name: "large", version: "1.0.0" }, { onError() {} }).extend(skills(source));
