#pragma once
#include <libxml/xmlversion.h>
// With it the headers name ICU's, which are not those of Foundation's ICU. It adds members to the end of
// xmlCharEncodingHandler alone, which is never made or looked into here.
#undef LIBXML_ICU_ENABLED
#include <libxml/HTMLparser.h>

// A variable in the library, which Swift cannot tell from one that is written to.
static inline void tapedeck_xml_free(void *bytes) { xmlFree(bytes); }
