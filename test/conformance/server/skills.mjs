// @ts-check
import { skillsOf } from "portolan/server/skills";

/** The skills that the suite looks at: any will do, and one must have a folder inside. */
export const exampleSkills = await skillsOf(
  {
    "refunds/SKILL.md": `---
name: refunds
description: Pays money back to customers
license: Apache-2.0
metadata:
  version: "1.0"
---

# Refunds

Write to the customer; begin with the text in \`examples/\`.
`,
    "refunds/examples/email.md": "Dear customer, we have paid you back.\n",
  },
  { prefix: "acme" },
);
