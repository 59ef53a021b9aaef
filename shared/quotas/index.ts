/** What one client may use at a time (README: limits). */
export {
  countRequest,
  mayOpenTask,
  openStream,
  type Quota,
  type QuotaServices,
  type StreamPlace,
} from './quotas.ts';
