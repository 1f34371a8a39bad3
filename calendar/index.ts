/**
 * The calendar of pause windows: from rules to instants, with zone data that is newer than Node's own.
 * Never to be called from workflow code: workers differ in their zone data, and a replay must not.
 */

export { type ParsedRule, parseWindowRule, type RuleProblem } from './parse-rule.js';
export { HORIZON_DAYS, leavesTimeToRun, type PausePlan, type PlanOptions, planPauses } from './plan.js';
export { type PausePreview, previewPauses } from './preview.js';
export { isZoneDataOld, type ZoneData, zoneData } from './zone-data.js';
