// Defines the templates. The unit has no precompiled header, which would declare them first.
#define LANISTA_JSON_TEMPLATE template
#include "lanista/base/json_templates.h"
