// Seconds, on a clock that nobody sets.
export const begin = () => process.hrtime.bigint();
export const finish = (begun) => Number(process.hrtime.bigint() - begun) / 1e9;
