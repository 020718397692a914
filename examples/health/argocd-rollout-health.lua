-- The health of OpenKruise's Rollout for Argo CD: data.resource.customizations.health.rollouts.kruise.io_Rollout of the ConfigMap
-- argocd-cm. Needed beside OpenKruise's own definitions (`rollout crds --own`): the check that Argo CD ships fails on a Rollout
-- without a status, and with it every sync of the Application.
local status = obj.status
if status == nil or status.phase == nil then
  return { status = "Healthy", message = "no plan names this Rollout yet" }
end
if status.observedGeneration ~= obj.metadata.generation then
  return { status = "Progressing", message = "the agent has not looked at the newest change yet" }
end

local step = status.canaryStatus
if step == nil then
  step = status
end
local message = status.message or status.phase
if status.phase == "Healthy" or status.phase == "Disabled" or status.phase == "Initial" then
  return { status = "Healthy", message = message }
end
if status.phase == "Progressing" and step.currentStepState == "StepPaused" then
  return { status = "Suspended", message = message }
end
return { status = "Progressing", message = message }
