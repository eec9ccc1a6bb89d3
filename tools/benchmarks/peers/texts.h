// The text for the search benchmarks: a title, a sharer and a comment for each video.
//
// Words come from 131,071 ranks. Every octave of ranks has the same probability, which approximates Zipf's law. Words
// in comments and sharers begin with `z`, and other words do not, so a page of the newest titles is the same under
// every rule that ranks titles first.

#ifndef TEXTS_H
#define TEXTS_H

#include "workload.h"

enum { octaves = 17, title_words = 6, comment_words = 4, word_size = 10 };

struct texts {
    char title[title_words * word_size];
    char sharer[24];
    char comment[comment_words * (word_size + 1)];
};

// Writes two to four syllables of a consonant and a vowel, and returns the end.
static inline char *put_word(uint64_t rank, char *text) {
    static const char consonants[] = "bcdfghjklmnpqrstvwxy", vowels[] = "aeiou";
    uint64_t hash = mix(rank + 1);
    for (unsigned n = 2 + (unsigned)(hash % 3); n > 0; n--) {
        hash >>= 8;
        *text++ = consonants[hash % 20];
        *text++ = vowels[hash / 20 % 5];
    }
    return text;
}

static inline uint64_t text_draw(uint64_t seed, uint64_t i, unsigned k) {
    return mix(seed + (16 * i + k + 1) * 0x9E3779B97F4A7C15u);
}

static inline uint64_t pick_word(uint64_t random) {
    uint64_t low = (1ull << (random >> 32) % octaves) - 1;
    return low + (random & low);
}

static inline void texts_of(uint64_t seed, uint64_t i, struct texts *t) {
    char *end = t->title;
    for (unsigned k = 0; k < title_words; k++) {
        end = put_word(pick_word(text_draw(seed, i, k)), end);
        *end++ = ' ';
    }
    end[-1] = 0;
    end = t->comment;
    for (unsigned k = 0; k < comment_words; k++) {
        *end++ = 'z';
        end = put_word(pick_word(text_draw(seed, i, title_words + k)), end);
        *end++ = ' ';
    }
    end[-1] = 0;
    snprintf(t->sharer, sizeof t->sharer, "zoe %u", (unsigned)(text_draw(seed, i, 15) % 5000));
}

// The first three letters of the most common word, which occurs in about every third title.
static inline void commonest_beginning(char text[8]) {
    char word[word_size];
    put_word(0, word);
    memcpy(text, word, 3);
    text[3] = 0;
}

#endif
