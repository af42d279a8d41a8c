import type { JsonSchema } from "portolan/server";
import { string } from "portolan-server-kit";

export const zone: JsonSchema = string("IANA name such as Europe/Berlin, in any case; the tool zones finds them", {
  minLength: 1,
  maxLength: 64,
});

const moment: JsonSchema = {
  type: "object",
  description: "One moment as the clocks of a zone show it",
  properties: {
    zone: string("IANA name"),
    time: string("ISO 8601 with the offset"),
    weekday: string("In English"),
    offset: string("What is added to UTC, such as +05:30"),
    name: string("What the time is called, such as Central European Summer Time"),
    summerTime: { type: "boolean", description: "Whether summer time is kept; absent where that is not known" },
    utc: string("The same moment in UTC"),
  },
  required: ["zone", "time", "weekday", "offset", "utc"],
};

const change: JsonSchema = {
  type: "object",
  description: "When the clocks are next changed; absent if they are not within a year",
  properties: {
    utc: string("When, in UTC"),
    before: string("What the clocks would have shown"),
    after: string("What they show"),
  },
  required: ["utc", "before", "after"],
};

export const nowOutput: JsonSchema = {
  type: "object",
  properties: {
    times: {
      type: "array",
      description: "One for each zone, in the order asked for",
      items: { ...moment, properties: { ...(moment["properties"] as object), nextChange: change } },
    },
  },
  required: ["times"],
};

export const convertOutput: JsonSchema = {
  type: "object",
  properties: {
    shown: {
      enum: ["once", "twice", "never"],
      description:
        "How often the clocks of the zone show the time: twice where they are set back, never where they are set forward",
    },
    note: string("What to tell the user where the time is shown twice or never"),
    readings: {
      type: "array",
      description: "What the time means, the usual meaning first; two where it is shown twice or never",
      items: {
        type: "object",
        properties: {
          means: string("Which of the meanings this is"),
          from: moment,
          to: { type: "array", items: moment, description: "The same moment in the other zones" },
        },
        required: ["means", "from", "to"],
      },
    },
  },
  required: ["shown", "readings"],
};

export const zonesOutput: JsonSchema = {
  type: "object",
  properties: {
    zones: { type: "array", items: moment, description: "Those that fit, with their time at the moment asked for" },
    total: { type: "integer", description: "How many fit in all" },
    next: { type: "integer", description: "Give it as `from` to see the following ones; absent at the end" },
  },
  required: ["zones", "total"],
};
