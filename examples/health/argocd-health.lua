-- The health of a RolloutPlan for Argo CD: data.resource.customizations.health.rollout.dev_RolloutPlan of the ConfigMap
-- argocd-cm. A release that waits for a person is Suspended; one that was taken back is Degraded until git says something else.
local healths = {
  Running = "Progressing",
  Finishing = "Progressing",
  Aborting = "Progressing",
  Holding = "Suspended",
  Gated = "Suspended",
  Paused = "Suspended",
  Succeeded = "Healthy",
  Preview = "Healthy",
  Bypassed = "Healthy",
  Aborted = "Degraded",
  Stalled = "Degraded",
}

local status = obj.status
if status == nil or status.phase == nil or status.observedGeneration ~= obj.metadata.generation then
  return { status = "Progressing", message = "the agent has not looked at this plan yet" }
end

local message = status.phase
if status.cursor ~= nil and status.cursor.step ~= nil and status.cursor.step > 0 then
  message = message .. ", step " .. status.cursor.step .. " of " .. #obj.spec.steps
end
if status.waitingFor ~= nil then
  message = message .. ": " .. status.waitingFor
end
return { status = healths[status.phase] or "Unknown", message = message }
