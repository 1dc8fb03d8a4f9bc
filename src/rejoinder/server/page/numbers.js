// Formats numbers for people.

const plain = new Intl.NumberFormat("en");

export const count = (number, noun) => `${plain.format(number)} ${noun}${number === 1 ? "" : "s"}`;

export const formatNumber = (number) => plain.format(number);

export function milliseconds(value) {
  if (value >= 9950) return `${(value / 1000).toFixed(0)} s`;
  if (value >= 995) return `${(value / 1000).toFixed(1)} s`;
  return value >= 9.95 ? `${value.toFixed(0)} ms` : `${value.toFixed(1)} ms`;
}

export function bytes(value) {
  if (value < 1000) return `${value} B`;
  if (value < 999_500) return `${(value / 1000).toFixed(value < 9950 ? 1 : 0)} kB`;
  return `${(value / 1_000_000).toFixed(1)} MB`;
}

export const percent = (share) => `${Math.round(100 * share)} %`;
