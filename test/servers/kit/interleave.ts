/** Runs a check for each index; twenty are under way at any time. Returns the indexes for which it was false. */
export async function interleave(count: number, isRight: (index: number) => Promise<boolean>): Promise<number[]> {
  const indexes = Array.from({ length: count }, (_, index) => index).values();
  const wrong: number[] = [];
  const work = async () => {
    for (const index of indexes) if (!(await isRight(index))) wrong.push(index);
  };
  await Promise.all(Array.from({ length: 20 }, work));
  return wrong;
}
