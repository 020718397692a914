-- Ingress of ingress-nginx: a second Ingress, marked as canary, takes a share or one header's and one cookie's requests.
--
-- Works on the annotations of that second Ingress; its rules are copied from the original (gateway.yaml). The controller asks
-- the header first, then the cookie, then the weight, so one of each can stand together, and nothing else can.

local PREFIX = "nginx.ingress.kubernetes.io/"
local COOKIE = "canary-by-cookie"
local OURS = {
    "canary",
    "canary-by-cookie",
    "canary-by-header",
    "canary-by-header-pattern",
    "canary-by-header-value",
    "canary-weight",
    "canary-weight-total",
}

local annotations = {}
for key, value in pairs(obj.annotations or {}) do
    annotations[key] = value
end
for _, key in ipairs(OURS) do
    annotations[PREFIX .. key] = nil
end

local function set(key, value)
    if annotations[PREFIX .. key] ~= nil then
        error("ingress-nginx knows one `" .. key .. "` only", 0)
    end
    annotations[PREFIX .. key] = value
end

set("canary", "true")
if obj.weight ~= "-1" then
    set("canary-weight", obj.weight)
end
for _, match in ipairs(obj.matches or {}) do
    -- One condition is all that ingress-nginx can ask for; the first header is the one that counts.
    local header = (match.headers or {})[1]
    if not header then
        error("ingress-nginx matches requests by a header or a cookie only", 0)
    end
    if string.lower(header.name) == COOKIE then
        if header.type == "RegularExpression" then
            error("ingress-nginx matches a cookie by its name, not by an expression", 0)
        end
        set(COOKIE, header.value)
    else
        set("canary-by-header", header.name)
        if header.type == "RegularExpression" then
            set("canary-by-header-pattern", header.value)
        else
            set("canary-by-header-value", header.value)
        end
    end
end
return annotations
