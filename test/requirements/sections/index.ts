import type { Requirement } from "../requirement.ts";
import { apps } from "./apps.ts";
import { asking } from "./asking.ts";
import { base } from "./base.ts";
import { content } from "./content.ts";
import { extensions } from "./extensions.ts";
import { features } from "./features.ts";
import { lifecycle } from "./lifecycle.ts";
import { rounds } from "./rounds.ts";
import { skills } from "./skills.ts";
import { stdio } from "./stdio.ts";
import { subscriptions } from "./subscriptions.ts";
import { tasks } from "./tasks.ts";
import { tools } from "./tools.ts";
import { utilities } from "./utilities.ts";

/** All requirements by section. */
export const sections: { readonly [section: string]: readonly Requirement[] } = {
  apps,
  asking,
  base,
  content,
  extensions,
  features,
  lifecycle,
  rounds,
  skills,
  stdio,
  subscriptions,
  tasks,
  tools,
  utilities,
};
