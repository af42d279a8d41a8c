import { execFile } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { makeFolder, pathTo } from "./example.ts";

async function play(era: "2024-11-05" | "2026-07-28") {
  const folder = await makeFolder();
  const told: string[] = [];
  const { playStory } = await import(pathTo("examples/travel-story/story.mjs"));
  await playStory({ folder, era, tell: (who: string, what: string) => told.push(`${who}: ${what}`) });
  const read = async (name: string) => {
    const files = await readdir(join(folder, name));
    return Promise.all(files.map((file) => readFile(join(folder, name, file), "utf8")));
  };
  return { told, events: await read("events"), mails: await read("outbox") };
}

const approved = (told: readonly string[]) => told.flatMap((line) => /^you approve: (\w+\.\w+)/.exec(line)?.[1] ?? []);

test("the travel story runs on the last revision, with the booking confirmed in a form", async () => {
  const { told, events, mails } = await play("2026-07-28");
  expect(told.slice(0, 3)).toEqual(
    ["travel", "weather", "calendar"].map((name) => `server: ${name} speaks 2026-07-28`),
  );
  expect(approved(told)).toEqual([
    "travel.searchFlights",
    "weather.checkWeather",
    "travel.findBestFlight",
    "travel.bookHotel",
    "calendar.createCalendarEvent",
    "calendar.sendEmail",
  ]);
  const text = told.join("\n");
  expect(text).toMatch(/you approve: the skill vacation-planning of travel[\s\S]*travel\.searchFlights/);
  expect(text).toMatch(/you review: [\s\S]*answer: 1\. PT411 New York to Barcelona/);
  expect(text).toMatch(
    /task: travel\.bookHotel created\nyou fill in: [\s\S]*task: travel\.bookHotel ended\nanswer: Booked/,
  );
  expect(text).toMatch(/you fill in: the form of travel: Please confirm your Barcelona vacation booking details/);
  expect(text).toMatch(/answer: Booked as BK-0001: .*\(seat: window, room: sea view, travel insurance\)/);
  expect(text).toMatch(/log: \d+ entries, verified/);
  expect(events).toEqual([expect.stringContaining("SUMMARY:Barcelona Trip")]);
  expect(mails).toEqual([expect.stringContaining("Subject: Out of Office")]);
});

test("the travel story runs on the first revision, with the booking confirmed by a second approval", async () => {
  const { told, events, mails } = await play("2024-11-05");
  expect(told[0]).toBe("server: travel speaks 2024-11-05");
  expect(approved(told).filter((call) => call === "travel.bookHotel")).toHaveLength(2);
  const text = told.join("\n");
  expect(text).toMatch(/you review: [\s\S]*Nothing is booked yet[\s\S]*answer: Booked as BK-0001/);
  expect(text).toContain("you approve: the skill vacation-planning of travel");
  expect(text).not.toMatch(/you fill in|task: /);
  expect([events.length, mails.length]).toEqual([1, 1]);
});

test("the travel story is a program that tells each step and leaves nothing behind", async () => {
  const tmp = await makeFolder();
  const env = { ...process.env, TMPDIR: tmp };
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [pathTo("examples/travel-story/story.mjs")], {
    env,
  });
  expect(stderr).toBe("");
  expect(stdout).toMatch(/^the model +Your trip to Barcelona is booked and in your calendar/m);
  expect(await readdir(tmp)).toEqual([]);
});
