import http from 'k6/http';

// What is asked comes by -e: URL, SECONDS and, of an open load, RATE, with VUS
// allocated at the start and at most MAX_VUS.
const seconds = `${__ENV.SECONDS}s`;
const load = __ENV.RATE
  ? { executor: 'constant-arrival-rate', rate: Number(__ENV.RATE), timeUnit: '1s', duration: seconds, preAllocatedVUs: Number(__ENV.VUS), maxVUs: Number(__ENV.MAX_VUS) }
  : { executor: 'constant-vus', vus: Number(__ENV.VUS), duration: seconds };

export const options = { discardResponseBodies: true, scenarios: { load }, summaryTrendStats: ['med', 'p(99)', 'max'] };

export default function () {
  http.get(__ENV.URL);
}

export function handleSummary(data) {
  return { stdout: JSON.stringify(data.metrics) };
}
