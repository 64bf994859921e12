# syntax=docker/dockerfile:1
FROM python:3.11-slim AS build
# A package index that offers the CPU build of torch, for example the one named on PyTorch's install page;
# empty: the default index, whose Linux build brings several GB of CUDA.
ARG TORCH_INDEX_URL=""
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
RUN python -m venv /opt/tres
ENV PATH=/opt/tres/bin:$PATH
WORKDIR /src
# The slowest layers first: they change only with the lock file and the list of dependencies.
COPY requirements.lock ./
RUN pip install --no-deps -c requirements.lock ${TORCH_INDEX_URL:+--index-url "$TORCH_INDEX_URL"} torch==2.13.0
COPY pyproject.toml README.md LICENSE ./
RUN mkdir tres_crawler migrations models \
    && echo '__version__ = "0"' > tres_crawler/__init__.py \
    && pip install -c requirements.lock . \
    && pip uninstall --yes tres-crawler
COPY tres_crawler ./tres_crawler
COPY migrations ./migrations
COPY models ./models
RUN pip install --no-deps -c requirements.lock .

FROM python:3.11-slim
RUN useradd --create-home --uid 10001 tres && mkdir -p /data /topics /scrape && chown tres:tres /data /topics /scrape
COPY --from=build /opt/tres /opt/tres
COPY docker/entrypoint.sh /usr/local/bin/tres-entrypoint
ENV PATH=/opt/tres/bin:$PATH PYTHONUNBUFFERED=1 TRES_SERVE__TOPICS_DIR=/topics
USER tres
WORKDIR /data
VOLUME /data
EXPOSE 8000
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s \
  CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8000/healthz', timeout=4)"]
ENTRYPOINT ["tres-entrypoint"]
CMD ["tres", "serve", "--host", "0.0.0.0", "--port", "8000", "--data-dir", "/data"]
