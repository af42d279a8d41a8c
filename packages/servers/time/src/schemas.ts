import type { JsonSchema } from "portolan/server";
import { string } from "portolan-server-kit";

export const zone: JsonSchema = string("IANA name such as Europe/Berlin, in any case; the tool zones finds names", {
  minLength: 1,
  maxLength: 64,
});

const moment: JsonSchema = {
  type: "object",
  description: "A moment in the local time of a zone",
  properties: {
    zone: string("IANA name"),
    time: string("ISO 8601 with the offset"),
    weekday: string("In English"),
    offset: string("Offset from UTC, such as +05:30"),
    name: string("Name of the local time, such as Central European Summer Time"),
    summerTime: { type: "boolean", description: "True during summer time; absent if unknown" },
    utc: string("The same moment in UTC"),
  },
  required: ["zone", "time", "weekday", "offset", "utc"],
};

const change: JsonSchema = {
  type: "object",
  description: "The next change of the clocks; absent if there is none within a year",
  properties: {
    utc: string("Moment of the change, in UTC"),
    before: string("Local time without the change"),
    after: string("Local time after the change"),
  },
  required: ["utc", "before", "after"],
};

export const nowOutput: JsonSchema = {
  type: "object",
  properties: {
    times: {
      type: "array",
      description: "One per zone, in the given order",
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
        "How often the clocks of the zone show the time: twice when they are set back, never when they are set forward",
    },
    note: string("What to tell the user if the time is shown twice or never"),
    readings: {
      type: "array",
      description: "Meanings of the time, the usual one first; two if it is shown twice or never",
      items: {
        type: "object",
        properties: {
          means: string("Description of this meaning"),
          from: moment,
          to: { type: "array", items: moment, description: "The same moment in the target zones" },
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
    zones: { type: "array", items: moment, description: "The matching zones, with their time at the given moment" },
    total: { type: "integer", description: "Number of matching zones" },
    next: { type: "integer", description: "Pass it as `from` to get the next page; absent on the last page" },
  },
  required: ["zones", "total"],
};
