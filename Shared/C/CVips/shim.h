// libvips. Its operations are variadic, which Swift does not import: each that is used has a function here, with the
// options that it is used with. All return 0, or -1 for an error.
#include <vips/vips.h>

// What libraries would print on standard error may quote the file.
static inline void parley_vips_say_nothing(const char *domain, GLogLevelFlags level, const char *message, void *data) {}

static inline void *parley_vips_do_nothing(void *data) { return data; }

// Must be called before the sandbox is closed: it opens modules, reads the environment and registers every operation.
static inline int parley_vips_start(const char *name) {
    // Modules bring formats that are not read here, with libraries such as ImageMagick and poppler.
    g_setenv("VIPSHOME", "/nonexistent", TRUE);
    g_log_set_default_handler(parley_vips_say_nothing, NULL);
    if (vips_init(name)) return -1;
    // glibc installs a handler of a signal of its own for the first thread.
    g_thread_join(g_thread_new("first", parley_vips_do_nothing, NULL));
    vips_concurrency_set(1);
    vips_cache_set_max(0);
    vips_vector_set_enabled(FALSE);  // It compiles code at run time, and memory that can be executed is not to be had.
    return 0;
}

static inline int parley_vips_load_jpeg(VipsSource *source, VipsImage **image) {
    return vips_jpegload_source(
        source, image, "access", VIPS_ACCESS_SEQUENTIAL, "fail_on", VIPS_FAIL_ON_ERROR, NULL);
}
static inline int parley_vips_load_png(VipsSource *source, VipsImage **image) {
    return vips_pngload_source(
        source, image, "access", VIPS_ACCESS_SEQUENTIAL, "fail_on", VIPS_FAIL_ON_ERROR, NULL);
}
// All frames, one below the other.
static inline int parley_vips_load_gif(VipsSource *source, VipsImage **image) {
    return vips_gifload_source(
        source, image, "n", -1, "access", VIPS_ACCESS_SEQUENTIAL, "fail_on", VIPS_FAIL_ON_ERROR, NULL);
}
static inline int parley_vips_load_webp(VipsSource *source, VipsImage **image) {
    return vips_webpload_source(
        source, image, "n", -1, "access", VIPS_ACCESS_SEQUENTIAL, "fail_on", VIPS_FAIL_ON_ERROR, NULL);
}
static inline VipsImage *parley_vips_pixels(const void *bytes, size_t length, int width, int height, int bands) {
    VipsImage *image = vips_image_new_from_memory_copy(bytes, length, width, height, bands, VIPS_FORMAT_UCHAR);
    if (image) image->Type = VIPS_INTERPRETATION_sRGB;
    return image;
}

// From the profile that the picture carries.
static inline int parley_vips_from_profile(VipsImage *image, VipsImage **result) {
    return vips_icc_transform(image, result, "srgb", "embedded", TRUE, "intent", VIPS_INTENT_PERCEPTUAL, NULL);
}
static inline int parley_vips_to_srgb(VipsImage *image, VipsImage **result) {
    return vips_colourspace(image, result, VIPS_INTERPRETATION_sRGB, NULL);
}
static inline int parley_vips_to_grey(VipsImage *image, VipsImage **result) {
    return vips_colourspace(image, result, VIPS_INTERPRETATION_B_W, NULL);
}
static inline int parley_vips_with_alpha(VipsImage *image, VipsImage **result) {
    return vips_addalpha(image, result, NULL);
}
static inline int parley_vips_upright(VipsImage *image, VipsImage **result) {
    return vips_autorot(image, result, NULL);
}
static inline int parley_vips_copied(VipsImage *image, VipsImage **result) { return vips_copy(image, result, NULL); }
static inline int parley_vips_rotated(VipsImage *image, VipsImage **result, VipsAngle angle) {
    return vips_rot(image, result, angle, NULL);
}
static inline int parley_vips_top(VipsImage *image, VipsImage **result, int height) {
    return vips_crop(image, result, 0, 0, image->Xsize, height, NULL);
}
// Smaller, or as it is: at most so wide and so high.
//
// Most of the way means of squares are enough, and less work; where pixels are transparent they would need weights. The
// lines of the result are asked for in their order, so what they are made of is kept from one to the next: without being
// told so libvips computes it again for each.
static inline int parley_vips_within(VipsImage *image, VipsImage **result, int size) {
    int factor = (image->Xsize > image->Ysize ? image->Xsize : image->Ysize) / size;
    int shortest = image->Xsize < image->Ysize ? image->Xsize : image->Ysize;
    VipsImage *half = image;
    vips_image_set_int(image, VIPS_META_SEQUENTIAL, 1);
    if (factor < 2 || shortest < factor || vips_image_hasalpha(image)) g_object_ref(image);
    else if (vips_shrink(image, &half, factor, factor, NULL)) return -1;
    int failed = vips_thumbnail_image(
        half, result, size, "height", size, "size", VIPS_SIZE_DOWN, "no_rotate", TRUE, NULL);
    g_object_unref(half);
    return failed;
}
static inline int parley_vips_deviation(VipsImage *image, double *deviation) {
    return vips_deviate(image, deviation, NULL);
}

static inline int parley_vips_save_jpeg(VipsImage *image, VipsTarget *target, int quality, int subsamples) {
    return vips_jpegsave_target(
        image, target, "Q", quality, "strip", TRUE, "optimize_coding", TRUE, "subsample_mode",
        subsamples ? VIPS_FOREIGN_SUBSAMPLE_ON : VIPS_FOREIGN_SUBSAMPLE_OFF, NULL);
}
static inline int parley_vips_save_png(VipsImage *image, VipsTarget *target) {
    return vips_pngsave_target(image, target, "strip", TRUE, NULL);
}
static inline int parley_vips_save_gif(VipsImage *image, VipsTarget *target) {
    return vips_gifsave_target(image, target, "strip", TRUE, "reuse", TRUE, "effort", 1, NULL);
}
static inline int parley_vips_save_webp(VipsImage *image, VipsTarget *target, int quality, int effort) {
    return vips_webpsave_target(image, target, "Q", quality, "effort", effort, "strip", TRUE, NULL);
}

// Calls `write` with what an operation writes; it returns how many bytes it took.
static inline VipsTarget *parley_vips_target(
    gint64 (*write)(VipsTargetCustom *, const void *, gint64, void *), void *context) {
    VipsTargetCustom *target = vips_target_custom_new();
    g_signal_connect(target, "write", G_CALLBACK(write), context);
    return VIPS_TARGET(target);
}
