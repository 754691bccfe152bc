#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/display.h>
#include <libswscale/swscale.h>

// Macros, which Swift does not import.
static const int64_t av_no_time = AV_NOPTS_VALUE;
static const int64_t av_time_base = AV_TIME_BASE;
static const int av_end_of_file = AVERROR_EOF;
static const int av_again = AVERROR(EAGAIN);
static const int av_not_permitted = AVERROR(EPERM);

// A frame as red, green and blue of each pixel, scaled to this size. `pixels` has 64 bytes more than they need.
static inline int parley_av_to_rgb(const AVFrame *frame, uint8_t *pixels, int width, int height) {
    struct SwsContext *scaler = sws_getContext(
        frame->width, frame->height, (enum AVPixelFormat)frame->format, width, height, AV_PIX_FMT_RGB24,
        SWS_AREA | SWS_ACCURATE_RND | SWS_FULL_CHR_H_INT, NULL, NULL, NULL);
    if (!scaler) return -1;
    const int *from = sws_getCoefficients(frame->colorspace);
    sws_setColorspaceDetails(
        scaler, from, frame->color_range == AVCOL_RANGE_JPEG, sws_getCoefficients(SWS_CS_DEFAULT), 1, 0, 1 << 16, 1 << 16);
    uint8_t *const planes[4] = {pixels};
    const int strides[4] = {3 * width};
    int rows = sws_scale(scaler, (const uint8_t *const *)frame->data, frame->linesize, 0, frame->height, planes, strides);
    sws_freeContext(scaler);
    return rows == height ? 0 : -1;
}
