import { connectInMemory } from "portolan/testing";
import { createTime, type TimeOptions } from "portolan-time";
import { describe, expect, onTestFinished, test } from "vitest";
import { revisions } from "../../kit/revisions.ts";
import { call, expectDescribed, failureOf } from "../kit/tools.ts";

async function open(options: TimeOptions & { at?: string } = {}) {
  const { at, ...rest } = options;
  const server = createTime({ zone: "UTC", ...(at !== undefined && { now: () => Date.parse(at) }), ...rest });
  const client = await connectInMemory(server);
  onTestFinished(() => client.close());
  return client;
}

const convert = async (time: string, from: string, ...to: string[]) =>
  call(await open(), "convert", { time, from, to: to.length > 0 ? to : ["UTC"] });

test.each(revisions)("describes every tool on %s", async (revision) => {
  const client = await connectInMemory(createTime({ zone: "UTC" }), { revision });
  if (revision === "2026-07-28") await expectDescribed(client);
  const { content } = await client.callTool("now", { zones: ["UTC"] });
  expect(content).toMatchObject([{ type: "text", text: expect.stringMatching(/day \d{4}-.*\+00:00 UTC/) }]);
  await client.close();
});

describe("now", () => {
  test("returns the time in several zones, and the next change of their clocks", async () => {
    const client = await open({ at: "2026-03-01T12:00:00Z" });
    const { times } = await call(client, "now", { zones: ["Europe/Berlin", "Asia/Kolkata"] });
    expect(times).toEqual([
      {
        zone: "Europe/Berlin",
        time: "2026-03-01T13:00:00+01:00",
        weekday: "Sunday",
        offset: "+01:00",
        name: "Central European Standard Time",
        summerTime: false,
        utc: "2026-03-01T12:00:00Z",
        nextChange: {
          utc: "2026-03-29T01:00:00Z",
          before: "2026-03-29T02:00:00+01:00",
          after: "2026-03-29T03:00:00+02:00",
        },
      },
      expect.objectContaining({ time: "2026-03-01T17:30:00+05:30", name: "India Standard Time", summerTime: false }),
    ]);
    expect(times[1]).not.toHaveProperty("nextChange");
  });

  test.each([
    ["Europe/London", "2026-07-01T00:00:00Z", true],
    ["Europe/Dublin", "2026-07-01T00:00:00Z", true],
    ["Europe/Dublin", "2026-01-01T00:00:00Z", false],
    ["Australia/Sydney", "2026-01-01T00:00:00Z", true],
    ["Europe/Istanbul", "2026-07-01T00:00:00Z", false],
  ])("knows whether %s has summer time at %s", async (zone, at, summerTime) => {
    const { times } = await call(await open({ at }), "now", { zones: [zone] });
    expect(times[0].summerTime).toBe(summerTime);
  });

  test("accepts names in any case and old names", async () => {
    const { times } = await call(await open(), "now", {
      zones: ["europe/KIEV", "asia/calcutta", "US/Pacific", "Etc/UTC"],
    });
    expect(times.map(({ zone }: { zone: string }) => zone)).toEqual([
      ...["Europe/Kyiv", "Asia/Kolkata", "America/Los_Angeles", "UTC"],
    ]);
  });

  test("suggests similar zones for an unknown one, and rejects offsets", async () => {
    const client = await open();
    expect(await failureOf(client, "now", { zones: ["Germany/Berlin"] })).toContain("did you mean Europe/Berlin");
    expect(await failureOf(client, "now", { zones: ["+02:00"] })).toContain("No time zone");
    expect(await failureOf(client, "now", { zones: [] })).toContain("zones");
    expect(await failureOf(client, "now", { zones: Array.from({ length: 51 }, () => "UTC") })).toContain("zones");
  });
});

describe("offsets in history and around the world", () => {
  test.each([
    // Local mean time has seconds.
    ["America/New_York", "1883-11-18T11:00:00", "-04:56:02", "1883-11-18T15:56:02Z"],
    ["Europe/Berlin", "1890-01-01T12:00:00", "+00:53:28", "1890-01-01T11:06:32Z"],
    // Offsets have changed over time.
    ["Asia/Kathmandu", "1985-06-01T12:00", "+05:30", "1985-06-01T06:30:00Z"],
    ["Asia/Kathmandu", "1986-06-01T12:00", "+05:45", "1986-06-01T06:15:00Z"],
    ["Asia/Singapore", "1975-01-01T12:00", "+07:30", "1975-01-01T04:30:00Z"],
    ["Europe/Moscow", "2012-01-01T12:00", "+04:00", "2012-01-01T08:00:00Z"],
    ["Europe/Moscow", "2015-01-01T12:00", "+03:00", "2015-01-01T09:00:00Z"],
    ["Europe/London", "1970-01-01T12:00", "+01:00", "1970-01-01T11:00:00Z"],
    // Both sides of the date line, more than a day apart.
    ["Pacific/Kiritimati", "2026-01-01T00:00", "+14:00", "2025-12-31T10:00:00Z"],
    ["Pacific/Pago_Pago", "2026-01-01T00:00", "-11:00", "2026-01-01T11:00:00Z"],
    ["Pacific/Apia", "2011-12-29T23:59", "-10:00", "2011-12-30T09:59:00Z"],
    ["Pacific/Apia", "2011-12-31T00:00", "+14:00", "2011-12-30T10:00:00Z"],
    // Summer time of half an hour, and offsets with quarters.
    ["Australia/Lord_Howe", "2026-01-15T12:00", "+11:00", "2026-01-15T01:00:00Z"],
    ["Australia/Lord_Howe", "2026-07-15T12:00", "+10:30", "2026-07-15T01:30:00Z"],
    ["Pacific/Chatham", "2026-07-15T12:00", "+12:45", "2026-07-14T23:15:00Z"],
    // The first centuries.
    ["UTC", "0050-01-01T00:00", "+00:00", "0050-01-01T00:00:00Z"],
  ])("%s at %s has the offset %s", async (zone, time, offset, utc) => {
    const { shown, readings } = await convert(time, zone);
    expect({ shown, readings }).toMatchObject({ shown: "once", readings: [{ from: { offset, utc } }] });
  });
});

describe("convert", () => {
  test("returns two meanings for a time that clocks never show, the usual one first", async () => {
    const { shown, note, readings } = await convert("2026-03-29T02:30", "Europe/Berlin", "UTC");
    expect(shown).toBe("never");
    expect(note).toContain("set forward");
    expect(readings.map((one: { from: { time: string } }) => one.from.time)).toEqual([
      ...["2026-03-29T03:30:00+02:00", "2026-03-29T01:30:00+01:00"],
    ]);
  });

  test("returns two meanings for a time that clocks show twice, the earlier one first", async () => {
    const { shown, note, readings } = await convert("2026-10-25T02:30", "Europe/Berlin", "America/New_York");
    expect(shown).toBe("twice");
    expect(note).toContain("set back");
    expect(readings.map((one: { to: { time: string }[] }) => one.to[0]!.time)).toEqual([
      ...["2026-10-24T20:30:00-04:00", "2026-10-24T21:30:00-04:00"],
    ]);
  });

  test.each([
    ["2026-03-29T01:59:59", "once"],
    ["2026-03-29T02:00:00", "never"],
    ["2026-03-29T02:59:59", "never"],
    ["2026-03-29T03:00:00", "once"],
    ["2026-10-25T01:59:59", "once"],
    ["2026-10-25T02:00:00", "twice"],
    ["2026-10-25T02:59:59", "twice"],
    ["2026-10-25T03:00:00", "once"],
  ])("around a change, Berlin shows %s %s", async (time, shown) => {
    expect((await convert(time, "Europe/Berlin")).shown).toBe(shown);
  });

  test("handles a skipped day and a repeated day", async () => {
    expect((await convert("2011-12-30T12:00", "Pacific/Apia")).shown).toBe("never");
    const { shown, readings } = await convert("1867-10-18T18:00", "America/Sitka");
    expect(shown).toBe("twice");
    const [first, second] = readings.map((one: { from: { utc: string } }) => Date.parse(one.from.utc));
    expect(second - first).toBe(24 * 3_600_000);
  });

  test("handles the two noons of New York in 1883", async () => {
    const { shown, readings } = await convert("1883-11-18T12:00", "America/New_York");
    expect(shown).toBe("twice");
    expect(readings.map((one: { from: { offset: string } }) => one.from.offset)).toEqual(["-04:56:02", "-05:00"]);
  });

  test("handles a gap of half an hour", async () => {
    expect((await convert("2026-10-04T02:15", "Australia/Lord_Howe")).shown).toBe("never");
    expect((await convert("2026-10-04T02:30", "Australia/Lord_Howe")).shown).toBe("once");
  });

  test("a time with an offset has one meaning in every zone", async () => {
    const { shown, readings } = await convert("2026-10-25T02:30:00+01:00", "Europe/Berlin");
    expect({ shown, utc: readings[0].to[0].utc }).toEqual({ shown: "once", utc: "2026-10-25T01:30:00Z" });
  });

  test("a time without a date means today in its zone", async () => {
    const client = await open({ at: "2026-05-01T20:00:00Z" });
    const { readings } = await call(client, "convert", { time: "09:00", from: "Asia/Tokyo", to: ["UTC"] });
    expect(readings[0].from.time).toBe("2026-05-02T09:00:00+09:00");
  });

  test.each(["2026-02-30T12:00", "25:00", "24:00", "12:60", "tomorrow", "2026-13-01T00:00", "0000-01-01T00:00"])(
    "rejects %s and explains the format",
    async (time) => {
      expect(await failureOf(await open(), "convert", { time, to: ["UTC"] })).toContain("expected 14:30");
    },
  );
});

describe("zones", () => {
  const names = async (args: object) => {
    const { zones } = await call(await open({ at: "2026-01-01T00:00:00Z" }), "zones", args);
    return zones.map(({ zone }: { zone: string }) => zone);
  };

  test("are found by city, country, text and offset", async () => {
    expect(await names({ city: "são paulo" })).toEqual(["America/Sao_Paulo"]);
    expect(await names({ country: "de" })).toEqual(["Europe/Berlin", "Europe/Busingen"]);
    expect(await names({ country: "New Zealand" })).toEqual(["Pacific/Auckland", "Pacific/Chatham"]);
    expect(await names({ text: "india" })).toContain("Asia/Kolkata");
    expect(await names({ text: "argentina salta" })).toEqual(["America/Argentina/Salta"]);
    expect(await names({ offset: "+05:45" })).toEqual(["Asia/Kathmandu"]);
  });

  test("are found by their offset at another time", async () => {
    const wanted = { country: "DE", city: "berlin", offset: "+2" };
    expect(await names({ ...wanted, at: "2026-07-01T00:00" })).toEqual(["Europe/Berlin"]);
    expect(await failureOf(await open(), "zones", { ...wanted, at: "2026-01-01T00:00" })).toContain("No zone matches");
  });

  test("come in pages", async () => {
    const client = await open();
    const all: string[] = [];
    for (let from: number | undefined = 0; from !== undefined; ) {
      const page: { zones: { zone: string }[]; next?: number; total: number } = await call(client, "zones", {
        from,
        limit: 50,
      });
      all.push(...page.zones.map(({ zone }) => zone));
      from = page.next;
      expect(all.length).toBeLessThanOrEqual(page.total);
    }
    expect(new Set(all).size).toBe(all.length);
    expect(all.length).toBeGreaterThan(400);
    expect(all).toContain("Europe/Kyiv");
  });

  test("explains wrong arguments", async () => {
    const client = await open();
    expect(await failureOf(client, "zones", { country: "Atlantis" })).toContain("two letters");
    expect(await failureOf(client, "zones", { offset: "five" })).toContain("+05:30");
  });
});

test("offers zones as resources, completes their names, and does not find unknown ones", async () => {
  const client = await open({ at: "2026-01-01T00:00:00Z" });
  const { contents } = await client.readResource("time://Europe/Lisbon");
  expect(contents).toMatchObject([{ mimeType: "application/json", text: expect.stringContaining("+00:00") }]);
  await expect(client.readResource("time://Europe/Atlantis")).rejects.toThrow("Europe/Atlantis");
  const { values } = await client.complete(
    { type: "ref/resource", uri: "time://{+zone}" },
    { name: "zone", value: "new" },
  );
  expect(values).toEqual(expect.arrayContaining(["America/New_York"]));
});
